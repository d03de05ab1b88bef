"""Part-of-speech rules for single English words, as captions of sounds need them: closed lists and spelling rules."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache


class Tag(Enum):
    """The part of speech of a word; ``S`` and ``BASE`` are verb or noun, which the words around it decide."""

    ADJ = "adjective"
    ADV = "adverb"
    AUX = "auxiliary"
    BASE = "verb as in 'dogs bark', or noun"
    COMMA = "comma"
    DET = "determiner"
    ED = "past participle"
    ING = "present participle, gerund"
    JOIN = "coordinator"
    NOUN = "noun"
    PAST = "irregular past"
    PREP = "preposition"
    PRON = "subject pronoun"
    REL = "relative pronoun"
    S = "verb as in 'a dog barks', or plural noun"
    SUB = "subordinator"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SINGULAR_DET = _words("a an one another each every single this")
PLURAL_DET = _words(
    "several two three four five six seven eight nine ten many multiple various numerous few these those both couple"
)
DEFINITE = _words("the his her its their my your our these those this")
_DET = SINGULAR_DET | PLURAL_DET | DEFINITE | _words("some any no other most more")
_AUX = _words(
    "is are was were be been am has have had does do did can could will would may might must should isn't aren't "
    "wasn't weren't doesn't don't can't"
)
_PRON = _words("it he she they there i we you")
_REL = _words("that which who whose where")
_SUB = _words("as while when whenever whilst until till because since though although if before after once than so")
_JOIN = _words("and or but then plus & nor")
_PREP = _words(
    "of in on at with without from by to into onto over under through across along around near against during between "
    "among behind beside besides inside outside above below beneath past towards toward amid amidst amongst via like "
    "for about off up down out upon throughout within alongside per nearby together followed preceded proceeded "
    "accompanied mixed including atop despite"
)
_ADV = _words(
    "again twice once only just first next finally afterwards later eventually suddenly repeatedly away back forth "
    "forward backward backwards together apart aloud very too also still nearby meanwhile sometimes often always far "
    "close hard fast indoors outdoors outside inside forcefully quite rather almost soon shortly abruptly all "
    "simultaneously momentarily alone too further farther faster louder longer closer instead else thereafter "
    "non-stop nonstop briefly ahead overhead home ashore below above somewhat steadily upwards downwards"
)
_ADJ = _words(
    "loud quiet soft gentle heavy light faint low high deep distant small large big huge tiny young old older elderly "
    "constant continuous rapid slow quick fast brief short long steady strong hard sharp dull electronic electric "
    "mechanical metallic wooden metal plastic digital muffled rhythmic repetitive repeated high-pitched low-pitched "
    "intermittent consistent sudden powerful rough soft calm medium mid-size musical instrumental different similar "
    "white solid wet dry hollow heavy dark eerie airy fuzzy woody noisy busy single multiple random regular irregular "
    "occasional clear slight light mild extreme emergency public outdoor indoor full shrill hoarse squeaky happy sad "
    "foreign additional overlapping simultaneous same frequency pitch pitched back"
)

_VERBS = _words(
    "accelerate activate adjust amplify announce answer appear applaud approach argue arrive attempt baa babble bang "
    "bark bawl beat become beep begin belch bellow bend blare blast bleat bleep blend blow boil bonk boo boom bounce "
    "brake bray break breathe bring brush bubble buckle build burble burn burp burst buzz cackle call carry catch caw "
    "culminate change chant chat chatter cheep cheer chew chime chirp chirrup chomp chop chuckle chug clack clang "
    "clank clap clash clatter clean clear click climb clink clip clip-clop clop close cluck coast come comment "
    "commentate communicate contain continue converse coo cook cough crack crackle crash crawl creak create croak "
    "crow crumble crumple crunch cry cut dance deal decelerate decrease deliver die diminish ding dip discuss disturb "
    "dive drag drain draw drill drift drip drive drop drum dry echo eject emit end engage enter erupt escape exhale "
    "explain explode fade fall fart fill film finish fire fizz fizzle flap flip float flow fluctuate flush flutter "
    "fly fold follow form fry gain gallop gasp gather get giggle give glide go gobble grind groan grow growl grunt "
    "gulp gurgle gust hammer hang happen have hear heave hiccup hiss hit hold holler honk hoot howl hum idle ignite "
    "imitate increase inhale intensify interfere interrupt jingle jog join jump keep kick kiss knock land lap laugh "
    "launch lead leave let lift listen load lock loop low lower make march meow mew mimic moan moo moon move mumble "
    "murmur narrate neigh nicker occur oink open operate orate overlap pace paddle page paint pant pass pat patter "
    "pause peck peel perform persist pick ping pitch play plop plunge pop pound pour power pray preach press proceed "
    "produce puff pull pulsate pulse pump punch purr push put quack quicken race rain raise ramble rap rasp ratchet "
    "rattle reach read recede record refill reel release repeat reply resonate respond resume return rev reverberate "
    "reverse rewind ride ring rip ripple roar roll rotate row rub ruffle rumble run rush rustle sand saw say scamper "
    "scold scrape scratch scrawl scream screech scrub scuff scurry set sew shake shatter shift shine shoot shout "
    "shred shriek shuffle shut sigh signal sing sink sip sit sizzle skid skip slam slap slice slide slosh slow slurp "
    "smack smash snap snarl sneeze snicker sniff sniffle snip snore snort sob sound spatter speak speed spin splash "
    "splat splatter splutter spray sprinkle sputter squawk squeak squeal squeeze squirt squish stack start steam step "
    "stir stitch stomp stop strike stroke strum struggle strut stutter suck surge swallow sway sweep swim swing swish "
    "switch swoosh tap talk taper tear tell throw thud thump thunder tick tick-tock ticktock ting toll toot touch "
    "travel tread trickle trill trot try tumble tune turn tweet twist type unlock unwrap use utter vary vibrate "
    "vocalize vroom wail wait walk warble wash weep whack wheeze whimper whine whip whir whirl whirr whisper whistle "
    "whiz whizz whoop whoosh wind wipe woof work wrap yap yell yelp yip yodel zip zoom slow ooze react seem"
)
#: Verbs that are hardly ever nouns: 'a man and a woman talk' is a sentence, 'a man and a toilet flush' is not.
PLAIN_VERBS = _words(
    "speak talk sing converse communicate chat shout yell laugh giggle chuckle applaud operate occur play walk run "
    "make have begin continue discuss argue approach scream cheer chatter whisper perform move pass get become go "
    "seem grow come start stop react appear follow keep blare"
)
#: Verbs in -s that are as often plural nouns, where no determiner tells.
EITHER = _words(
    "sounds beeps clicks pops bangs claps calls whistles screams shots honks taps horns waves steps signals drums "
    "screeches squeals cracks barks chirps chimes clanks shouts yells cries laughs hums blasts breaks gusts "
    "vibrations ticks splashes sirens knocks hits beats rings clops clip-clops clangs thuds thumps"
)
_PAST = _words(
    "began spoke went came ran blew rang sang took flew fell drove became grew threw gave got did made said arose "
    "broke drew shook swam wept"
)
#: Past forms that cannot be read as 'that was ...-ed': after a noun they are the finite verb.
INTRANSITIVE_PAST = _words(
    "barked sneezed coughed laughed talked occurred happened walked chirped meowed snored burped cried stopped "
    "started passed continued screamed whistled yelled shouted arrived appeared roared sizzled gurgled echoed buzzed "
    "hummed"
)
_IRREGULAR_PLURAL = _words(
    "people men women children mice geese feet teeth wolves leaves knives oxen sheep cattle police kids fish deer oxen"
)
#: Words in -s that name one thing, or none that can be counted.
_SINGULAR_IN_S = _words(
    "glass bass bus gas series applause grass brass dress press cross boss mass class process canvas circus chorus "
    "virus news lens chaos always alias tennis iris octopus walrus harness loudness darkness hiss kiss mess ss "
    "congress cypress express compass business happiness atlas christmas cactus genius status apparatus surplus "
    "campus census bias pants' species mains was is has does his its this as us thus yes plus perhaps"
)
_NOT_ING = _words(
    "thing something nothing anything everything ring king string spring morning evening ceiling building railing "
    "during sting swing wing ping ding sling bring sing lightning clothing darling herring earring pudding wedding "
    "sibling duckling lightening ting icing awning viking cling fling wring"
)
_NOT_ED = _words("speed seed feed weed need bed red shed sled breed steed reed speed moped mo-ped speed-bed")
_IRREGULAR_ED = _words(
    "struck spun held rung hung thrown broken driven shaken blown bent shut cut sung torn worn beaten heard ridden "
    "drawn sawn flown frozen spoken written"
)
#: Heads of compounds with a participle in the middle: 'a railroad crossing bell', 'water dripping sounds'.
COMPOUND_HEADS = _words(
    "sound sounds noise noises machine machines bell bells signal signals engine engines alarm alarms light lights "
    "tone tones track tracks warning tool tools device devices board boards system room water motor motors gun guns"
)
#: Heads that stand for what follows 'of': 'a group of people talking'.
COLLECTIVE = _words(
    "group groups crowd flock pair couple number herd variety pack lot bunch band stream swarm audience gaggle team"
)
#: One person or thing, with a verb in -s: 'someone claps'.
INDEFINITE = _words("someone somebody something everyone everybody nobody anyone anybody everything nothing")
#: Heads after which 'of' leads to events, not to somebody who acts: 'a series of bird chirps'.
EVENTS = _words(
    "series sequence succession set burst bursts round pattern sound sounds noise noises variety string mix mixture "
    "couple few pair instances"
)
#: Nouns that need an article when they stand alone in the singular.
COUNTABLE = _words(
    "dj man woman person child baby boy girl kid male female adult toddler infant dog cat bird duck cow horse pig goat "
    "rooster owl frog crow pigeon chicken insect bee fly mosquito beep bang pop thud click gunshot explosion sneeze "
    "shot burp cough crash boom sound animal puppy lion car truck bus train vehicle motorcycle motorbike motorboat "
    "boat speedboat ship helicopter airplane plane aircraft jet engine motor machine drill saw chainsaw siren horn "
    "bell clock phone telephone door toilet faucet keyboard gun whistle typewriter computer crowd river stream "
    "waterfall guitar piano drum fan radio tractor lawnmower ambulance bicycle skateboard sink hammer vacuum blender "
    "printer speaker choir voice"
)
_PROPER = _words(
    "english french spanish german italian chinese japanese arabic russian hindi portuguese african american european "
    "asian indian british irish latin christmas easter halloween monday tuesday wednesday thursday friday saturday "
    "sunday january february april june july september october november december god santa celtic morse doppler"
)
#: Participles whose noun is what is acted on: 'playing guitar', not 'a playing guitar'.
TAKE_OBJECTS = _words("playing opening closing hitting riding driving making blowing typing using striking tuning")
#: Words of a caption that carry grammar, not content: what a key phrase leaves out.
DROPPED = _words("a an the and of , it he she they there i we you that which who whose his her its their") | _words(
    "is are was were be been being am could will would"
)

_VOWEL_LETTERS = frozenset("aefhilmnorsx")
_SAID_WITH_A = re.compile(
    r"(uni(?!d(?!ir)|n|m|ss)|eu|ew|us[eiu](?!$)|uti|ute|ukulele|ubiq|ur[aeio]|one(?!i)|once|ouija)"
)
_SAID_WITH_AN = re.compile(r"(hour|honest|hono|heir)")


def article(word: str) -> str:
    """Return 'a' or 'an', by the sound of ``word``: an hour, a unit, an FM radio, an 8-bit tune."""
    bare = word.lstrip("'\"“‘(")
    lower = bare.lower()
    if bare[:1].isdigit():
        return "an" if bare[0] == "8" or re.match(r"1[18](\D|$)", bare) else "a"
    head = re.split(r"[-/]", bare)[0]
    if len(head) == 1 or (head.isupper() and head.isalpha()):
        return "an" if lower[:1] in _VOWEL_LETTERS else "a"
    if _SAID_WITH_AN.match(lower):
        return "an"
    return "an" if lower[:1] in tuple("aeiou") and not _SAID_WITH_A.match(lower) else "a"


def plural(word: str) -> bool:
    """Return whether ``word``, read as a noun, is plural."""
    if word in _IRREGULAR_PLURAL:
        return True
    return (
        word.endswith("s")
        and len(word) > 3
        and word not in _SINGULAR_IN_S
        and not word.endswith(("ss", "us", "'s", "is"))
    )


def keeps_capital(word: str) -> bool:
    """Return whether the first word of a sentence stays as it is inside one: DJ, I'm, 3D, English."""
    bare = re.split(r"['’]", word)[0]
    return bare == "I" or any(c.isupper() for c in bare[1:]) or bare.lower() in _PROPER


def lower_first(text: str) -> str:
    """Return ``text`` with its first letter small, unless the first word keeps its capital."""
    first = text.split(" ", 1)[0]
    return text if keeps_capital(first) else text[:1].lower() + text[1:]


def capital(text: str) -> str:
    """Return ``text`` with its first letter large."""
    return text[:1].upper() + text[1:]


_TABLE = (
    (Tag.JOIN, _JOIN),
    (Tag.SUB, _SUB),
    (Tag.REL, _REL),
    (Tag.AUX, _AUX),
    (Tag.PRON, _PRON),
    (Tag.DET, _DET),
    (Tag.PREP, _PREP),
    (Tag.ADV, _ADV),
    (Tag.ED, _IRREGULAR_ED),
    (Tag.PAST, _PAST),
    (Tag.ADJ, _ADJ),
    (Tag.BASE, _VERBS),
)


@cache
def tag(word: str) -> Tag:
    """Return the part of speech of ``word`` (lower case): from lists first, then endings; a noun if nothing else."""
    if word == ",":
        return Tag.COMMA
    for found, words in _TABLE:
        if word in words:
            return found
    if word.endswith("ing") and len(word) > 4 and word not in _NOT_ING:
        return Tag.ING
    if word.endswith("ed") and len(word) > 4 and word not in _NOT_ED:
        return Tag.ED
    if word.endswith(("ical", "rical", "ous", "able", "less")) and len(word) > 5 and word != "vegetable":
        return Tag.ADJ
    if word.endswith("ly") and len(word) > 4:
        return Tag.ADV
    return Tag.S if stem(word) else Tag.NOUN


def stem(word: str) -> str:
    """Return the listed verb of which ``word`` is the third-person form; empty if it is none."""
    stems = [word[:-1]] if word.endswith("s") else []
    stems += [word[:-2]] if word.endswith("es") else []
    stems += [word[:-3] + "y"] if word.endswith("ies") else []
    stems += [word[:-4]] if word.endswith(("zzes", "sses")) else []
    return next((found for found in stems if found in _VERBS), "")
