"""Reasons why tests of throughput are skipped, known before anything heavy is imported."""

from __future__ import annotations

GET_BENCHMARK = "pip install 'pytest-audioretrieval[throughput]', and run without -p no:benchmark"
NO_BENCHMARK = f"throughput needs pytest-benchmark: {GET_BENCHMARK}"
ONE_TAKE = "throughput needs repeated takes: run without -n, --benchmark-disable and --benchmark-skip"
