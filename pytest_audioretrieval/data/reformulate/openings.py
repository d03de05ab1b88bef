"""Openings with which people ask for a recording, and the words that may follow each.

The wording is our own; the three forms are those of CORA, Appendix A.1. No opening shares a word with the names in the
built-in captions, so an opening never adds content.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Opening:
    """The beginning of a query.

    Attributes:
        lead: its first words, 'Find me'.
        container: the thing asked for, 'a clip'; empty where the sounds themselves are asked for.
        noun: link to a noun phrase, 'of' or nothing.
        clause: link to a sentence, 'in which'; empty if it takes none.
        mark: the final mark, '.' or '?'.
    """

    lead: str
    container: str
    noun: str
    clause: str
    mark: str

    @property
    def any_shape(self) -> bool:
        """True if it takes any caption, and not noun phrases alone."""
        return bool(self.container)


_COMMAND = """
Find | a clip | of | in which
Find me | a recording | of | where
Get me | some audio | of | in which
Give me | a recording | with | in which
Show me | a clip | featuring | where
Bring up | the recording | of | in which
Pull up | any audio | of | in which
Retrieve | the clip | of | where
Fetch | the audio file | containing | in which
Go and fetch | a sample | of | in which
Locate | a recording | of | in which
Hunt down | a clip | with | where
Look for | an excerpt | of | in which
Look up | the audio | of | in which
Seek out | a recording | of | where
Dig up | an audio file | of | in which
Dig out | the clip | with | in which
Pick out | the recording | of | in which
Select | an excerpt | with | where
Choose | a clip | capturing | in which
Identify | the recording | of | in which
Return | the audio | of | in which
Present | a snippet | of | where
Load | the audio file | of | in which
Cue up | a clip | of | where
Queue | a recording | with | in which
Put on | a recording | of | in which
Send me | an audio clip | of | in which
Hand me | a sample | of | where
Let me listen to | a recording | of | in which
Search the archive for | audio | of | in which
Comb through the collection for | a clip | of | where
Scan the library for | any recording | of | in which
Check the database for | a file | containing | in which
Browse the catalogue for | an audio clip | of | where
Go through the files and find | a recording | of | in which
Filter the results down to | audio | of | in which
Narrow the results to | any clip | with | where
Point me to | a recording | of | in which
Direct me to | the clip | of | where
Take me to | the recording | with | in which
Serve up | a snippet | of | in which
Grab | an audio sample | of | in which
Surface | any audio | containing | in which
Provide | a recording | of | where
Supply | an audio excerpt | of | in which
Download | the clip | of | in which
Rank first | the recording | of | where
Play me | | |
Let me hear | | |
Detect | | |
Listen for | | |
Spot | | |
Try to find | | |
"""

_QUESTION = """
Is there | a clip | of | in which
Is there by any chance | some audio | of | where
Isn't there | a recording | of | in which
Might there be | an excerpt | with | in which
Could there be | a recording | of | where
Do you have | a recording | of | in which
Don't you have | a clip | of | where
Do we have | any audio | of | in which
Have you got | an audio clip | of | where
Haven't we got | a file | containing | in which
Does the collection include | a clip | of | in which
Does the library hold | a recording | of | where
Does this archive contain | any audio | of | in which
Does the catalogue list | a recording | with | in which
Does anyone know of | a clip | of | where
Does anybody have | an audio file | of | in which
Can you find | a recording | of | where
Can I listen to | a clip | of | in which
Can this database give me | a sample | of | in which
Are you able to find | audio | of | in which
Were you able to find | a recording | of | where
Where is | the recording | of | in which
Where can I find | a clip | of | in which
Where would I get | an audio sample | of | where
Where do you keep | the audio | of | in which
Which file is | a recording | of | in which
Which entry is | the clip | with | where
Which result is | an excerpt | of | in which
Which of these is | a recording | of | where
What is the name of | the clip | of | in which
What do I type to get | a recording | of | where
How do I find | a recording | of | in which
How can I get to | the audio | of | where
Who has | a recording | of | in which
Who can find | the clip | with | in which
Has anyone uploaded | a clip | of | where
Has anybody shared | an audio clip | of | in which
Did anyone post | a recording | of | in which
Did somebody upload | audio | of | where
Is it possible to find | a snippet | of | in which
Was there ever | a recording | of | where
Will a search turn up | a clip | of | in which
Would the archive have | a recording | of | in which
Should I expect to find | a file | with | in which
Am I right that there is | a recording | of | where
Are we missing | a clip | of | in which
Can you hear | | |
Can one make out | | |
Does any recording feature | | |
Does any clip contain | | |
In any of these recordings, is it possible to hear | | |
Which clip features | | |
Which recording captures | | |
"""

_SAID = """
I'm trying to locate | a clip | of | in which
I am looking for | a recording | of | where
I was hoping to find | some audio | of | in which
I was wondering if you could find | a clip | of | in which
I wonder whether there is | a recording | of | where
I'd love to listen to | a recording | of | in which
I could use | an audio clip | of | where
I could do with | a sample | of | in which
I need | a recording | of | in which
I'm after | a clip | with | where
I've been searching for | the recording | of | in which
I'd appreciate | a clip | of | in which
I would be grateful for | an audio file | of | in which
I'd be glad to get | a recording | of | where
I can't seem to find | the clip | of | in which
I still haven't found | a recording | of | in which
I'm having trouble finding | audio | of | in which
I'm curious whether you have | a recording | with | in which
I'd be interested in | any audio | of | where
It would be great to have | a clip | of | in which
It would help me to have | a recording | of | where
It'd be nice to listen to | an excerpt | of | in which
My project calls for | a recording | of | in which
What I need is | a clip | of | where
What I have in mind is | a recording | with | in which
What I'm hoping for is | an audio excerpt | of | in which
Someone asked me for | a clip | of | in which
Maybe you could point me to | a recording | of | where
Perhaps you can help me find | a clip | of | in which
If possible, please find | some audio | of | in which
If you have a moment, please look for | a recording | of | where
Whenever you get a chance, please pull up | a clip | of | in which
When you have time, kindly send me | an audio sample | of | in which
At your convenience, please locate | the recording | of | in which
Please let me know whether you have | a clip | of | where
Let me know if you come across | a recording | of | in which
Sorry to bother you, but I need | a clip | of | in which
We would be happy to receive | a recording | of | in which
I'd love to hear | | |
I'm hoping to hear | | |
"""

_ASKED = """
Would you mind pulling up | a clip | of | in which
Could you help me locate | a recording | of | where
Would you be able to help me find | the audio | of | in which
Could I trouble you for | a clip | of | in which
Might I ask you for | a recording | of | where
Would it be possible to get | an audio clip | of | in which
Could you possibly dig out | a recording | of | in which
Would you be so kind as to find | a clip | with | in which
Do you mind finding me | a recording | of | where
Do you think you could find | some audio | of | in which
Is there any chance you could send | a clip | of | where
Can you please provide me with | a recording | of | in which
Could I ask you to look for | a clip | of | in which
Would you please bring up | the recording | of | in which
If you're not busy, could you search for | a clip | of | where
At your convenience, could you help find | a recording | of | in which
When you get a minute, would you look for | an excerpt | of | in which
May I ask for | a sample | of | where
Could you do me a favour and find | a recording | of | in which
Excuse me, could you show me | the clip | of | where
Would it be all right to ask for | a recording | with | in which
May I please hear | | |
"""


def _table(rows: str, mark: str) -> tuple[Opening, ...]:
    parts = ([part.strip() for part in row.split("|")] for row in rows.strip().splitlines())
    return tuple(Opening(lead, container, noun, clause, mark) for lead, container, noun, clause in parts)


#: Form -> its openings, for the three forms that have one.
OPENINGS: dict[str, tuple[Opening, ...]] = {
    "command": _table(_COMMAND, "."),
    "question": _table(_QUESTION, "?"),
    "indirect": (*_table(_SAID, "."), *_table(_ASKED, "?")),
}
