"""What a command line would still need, said without the network and without a model."""
