"""The built-in recordings: where each comes from and how a person names what is heard.

All are CC0; ``recordings/ORIGINS.csv`` lists origin, licence and sha256 of each. The first three phrases may
stand in any caption, the fourth in captions of the test and validation splits only, so that no split is
answered by wording alone.
"""

from __future__ import annotations

ANIMALS = "ovos-animals-cc0/{}.mp3"
SAMPLES = "sonic-pi-cc0/{}.flac"

#: id -> (source file, phrases)
RECORDINGS: dict[str, tuple[str, tuple[str, str, str, str]]] = {
    name: (origin, phrases)
    for name, origin, phrases in (
        ("cat", ANIMALS.format("cat"), ("a cat meowing", "the meow of a cat", "a meowing cat", "a cat's meow")),
        ("cow", ANIMALS.format("cow"), ("a cow mooing", "the moo of a cow", "a mooing cow", "a cow's moo")),
        ("dog", ANIMALS.format("dog"), ("dogs barking", "the barking of dogs", "barking dogs", "the bark of dogs")),
        ("duck", ANIMALS.format("duck"), ("ducks quacking", "the quacking of ducks", "quacking ducks", "quacks of ducks")),
        ("frog", ANIMALS.format("frog"), ("frogs croaking", "the croaking of frogs", "croaking frogs", "croaks of frogs")),
        ("horse", ANIMALS.format("horse"), ("a horse neighing", "the neigh of a horse", "a neighing horse", "a horse's neigh")),
        ("owl", ANIMALS.format("owl"), ("an owl hooting", "the hoot of an owl", "a hooting owl", "an owl's hoot")),
        ("pig", ANIMALS.format("pig"), ("a pig grunting", "the grunt of a pig", "a grunting pig", "a pig's grunt")),
        ("rooster", ANIMALS.format("rooster"), ("a rooster crowing", "the crowing of a rooster", "a crowing rooster", "a rooster's crow")),
        ("sheep", ANIMALS.format("sheep"), ("a sheep bleating", "the bleat of a sheep", "a bleating sheep", "a sheep's bleat")),
        ("crow", SAMPLES.format("misc_crow"), ("a crow cawing", "the caw of a crow", "a cawing crow", "a crow's caw")),
        ("burp", SAMPLES.format("misc_burp"), ("a man burping", "the burp of a man", "a burping man", "a man's burp")),
        ("cinematic-boom", SAMPLES.format("misc_cineboom"), ("a cinematic boom", "the boom of a film trailer", "a huge trailer boom", "a film trailer's boom")),
        ("choir", SAMPLES.format("ambi_choir"), ("a choir singing", "the singing of a choir", "a singing choir", "a choir's chord")),
        ("dark-whoosh", SAMPLES.format("ambi_dark_woosh"), ("a dark whoosh", "the rush of a dark whoosh", "a deep dark whoosh", "a gloomy whoosh")),
        ("drone", SAMPLES.format("ambi_drone"), ("a low drone", "the hum of a drone", "a steady low drone", "a droning hum")),
        ("glass-hum", SAMPLES.format("ambi_glass_hum"), ("a glass humming", "the hum of a glass", "a humming glass", "a glass's hum")),
        ("glass-rub", SAMPLES.format("ambi_glass_rub"), ("a glass being rubbed", "the rubbing of a glass", "a rubbed glass", "a glass rim rubbed")),
        ("haunted-hum", SAMPLES.format("ambi_haunted_hum"), ("a haunted hum", "the hum of a haunted house", "a ghostly hum", "a haunted house's hum")),
        ("lunar", SAMPLES.format("ambi_lunar_land"), ("an eerie space sound", "the sound of outer space", "an eerie lunar sound", "a lunar landscape")),
        ("piano", SAMPLES.format("ambi_piano"), ("a piano chord", "the chord of a piano", "a chord on the piano", "a piano's chord")),
        ("sauna", SAMPLES.format("ambi_sauna"), ("a sauna hissing", "the steam of a sauna", "a hissing sauna", "a sauna's steam")),
        ("buzz", SAMPLES.format("ambi_soft_buzz"), ("a soft buzz", "the buzz of a mains hum", "a soft electric buzz", "a gentle buzz")),
        ("swoosh", SAMPLES.format("ambi_swoosh"), ("an airy swoosh", "the swoosh of air", "a swoosh of air", "a breath-like swoosh")),
        ("bass-drop", SAMPLES.format("bass_drop_c"), ("a bass drop", "the drop of a bass", "a falling bass", "a dropping bass note")),
        ("bass-thick", SAMPLES.format("bass_thick_c"), ("a thick bass note", "the thick sound of a bass", "a fat bass note", "a thick synth bass")),
        ("bass-voice", SAMPLES.format("bass_voxy_c"), ("a voice-like bass", "the vowel of a talking bass", "a talking bass", "a bass like a voice")),
        ("bass-wood", SAMPLES.format("bass_woodsy_c"), ("a woody bass note", "the woody tone of a bass", "a wooden bass note", "a woody synth bass")),
        ("boom-kick", SAMPLES.format("bd_boom"), ("a booming bass drum", "the boom of a bass drum", "a bass drum booming", "a bass drum's boom")),
        ("cowbell", SAMPLES.format("drum_cowbell"), ("a cowbell", "the clank of a cowbell", "a cowbell being hit", "a cowbell's clank")),
        ("closed-hihat", SAMPLES.format("drum_cymbal_closed"), ("a closed hi-hat", "the tick of a closed hi-hat", "a short hi-hat", "a hi-hat held shut")),
        ("splash", SAMPLES.format("drum_splash_hard"), ("a splash cymbal", "the crash of a splash cymbal", "a crashing cymbal", "a cymbal's crash")),
        ("drum-roll", SAMPLES.format("drum_roll"), ("a drum roll", "the roll of a snare drum", "a rolling snare drum", "a snare drum's roll")),
        ("snare", SAMPLES.format("drum_snare_hard"), ("a snare drum hit", "the hit of a snare drum", "a hard snare hit", "a snare drum struck once")),
        ("high-tom", SAMPLES.format("drum_tom_hi_hard"), ("a high tom", "the beat of a high tom", "a high tom-tom", "a high tom struck")),
        ("low-tom", SAMPLES.format("drum_tom_lo_hard"), ("a low tom", "the beat of a low tom", "a low tom-tom", "a low tom struck")),
        ("beep", SAMPLES.format("elec_beep"), ("an electronic beep", "the beep of a machine", "a machine beeping", "a machine's beep")),
        ("e-bell", SAMPLES.format("elec_bell"), ("a small electronic bell", "the ding of an electronic bell", "an electronic bell", "an electronic ding")),
        ("bong", SAMPLES.format("elec_bong"), ("an electronic bong", "the bong of a synthesizer", "a synthesizer bong", "a synthesizer's bong")),
        ("chime", SAMPLES.format("elec_chime"), ("a ringing chime", "the ringing of a chime", "a chime ringing", "a chime's ring")),
        ("pop", SAMPLES.format("elec_pop"), ("a short pop", "the pop of a cork", "a popping cork", "a cork's pop")),
        ("triangle", SAMPLES.format("elec_triangle"), ("a triangle", "the ting of a triangle", "a triangle being struck", "a triangle's ting")),
        ("twang", SAMPLES.format("elec_twang"), ("a twang", "the twang of a string", "a twanging string", "a string's twang")),
        ("woodblock", SAMPLES.format("elec_wood"), ("a wood block", "the knock of a wood block", "a wood block knocking", "a wood block's knock")),
        ("filtered-snare", SAMPLES.format("elec_filt_snare"), ("a filtered snare", "the swish of a filtered snare", "a swishing snare", "a filtered snare's swish")),
        ("fuzz-tom", SAMPLES.format("elec_fuzz_tom"), ("a fuzzy tom", "the fuzz of a tom", "a distorted tom", "a tom with fuzz")),
        ("glitch-robot", SAMPLES.format("glitch_robot1"), ("a glitchy robot voice", "the glitches of a robot voice", "a stuttering robot voice", "a robot voice full of glitches")),
        ("guitar-fifths", SAMPLES.format("guit_e_fifths"), ("electric guitar fifths", "the fifths of an electric guitar", "a guitar playing fifths", "fifths on an electric guitar")),
        ("guitar-slide", SAMPLES.format("guit_e_slide"), ("a sliding guitar", "the slide of a guitar", "a guitar slide", "a slide on the guitar")),
        ("guitar-chord", SAMPLES.format("guit_em9"), ("a strummed guitar chord", "the strum of a guitar", "a guitar being strummed", "a guitar's strum")),
        ("guitar-harmonics", SAMPLES.format("guit_harmonics"), ("guitar harmonics", "the harmonics of a guitar", "harmonics on a guitar", "a guitar's harmonics")),
        ("printer", SAMPLES.format("loop_3d_printer"), ("a 3D printer whirring", "the whirr of a 3D printer", "a whirring 3D printer", "a 3D printer's whirr")),
        ("breakbeat", SAMPLES.format("loop_breakbeat"), ("a breakbeat", "the drums of a breakbeat", "a breakbeat loop", "a breakbeat's drums")),
        ("amen-break", SAMPLES.format("loop_amen_full"), ("a fast drum break", "the break of a fast drummer", "a fast funk drum break", "a fast drummer's break")),
        ("computer", SAMPLES.format("loop_compus"), ("computer noises", "the noises of a computer", "a computer bleeping", "a computer's noises")),
        ("techno", SAMPLES.format("loop_garzul"), ("a techno synth loop", "the synth loop of a techno track", "a looping techno synth", "a techno track's synth")),
        ("industrial", SAMPLES.format("loop_industrial"), ("an industrial machine beat", "the beat of an industrial machine", "a clanking machine beat", "an industrial machine's beat")),
        ("groove", SAMPLES.format("loop_mika"), ("a house groove", "the groove of a house track", "a house music groove", "a house track's groove")),
        ("jungle", SAMPLES.format("loop_safari"), ("a jungle rhythm", "the rhythm of a jungle band", "a safari rhythm", "a jungle band's rhythm")),
        ("tabla-loop", SAMPLES.format("loop_tabla"), ("a tabla solo", "the playing of a tabla", "a tabla being played", "a tabla player's solo")),
        ("phone", SAMPLES.format("mehackit_phone1"), ("a phone interfering", "the interference of a phone", "phone interference", "a phone's interference")),
        ("robot", SAMPLES.format("mehackit_robot5"), ("a robot whirring", "the motor of a robot", "a whirring robot", "a robot's motor")),
        ("small-bell", SAMPLES.format("perc_bell"), ("a bell ringing", "the ringing of a bell", "a ringing bell", "a bell's ring")),
        ("door", SAMPLES.format("perc_door"), ("a door slamming", "the slam of a door", "a slamming door", "a door's slam")),
        ("snap", SAMPLES.format("perc_snap"), ("a finger snap", "the snap of fingers", "fingers snapping", "a snap of the fingers")),
        ("till", SAMPLES.format("perc_till"), ("a cash register", "the ring of a cash register", "a cash register opening", "a cash register's ring")),
        ("swish", SAMPLES.format("perc_swash"), ("a sword swish", "the swish of a sword", "a swishing sword", "a sword's swish")),
        ("tabla-hit", SAMPLES.format("tabla_na_o"), ("a tabla hit", "the hit of a tabla", "a tabla struck once", "a single tabla stroke")),
        ("tabla-bass", SAMPLES.format("tabla_ghe3"), ("a bending tabla bass", "the bending bass of a tabla", "a low tabla bending", "a bent tabla bass")),
        ("backspin", SAMPLES.format("vinyl_backspin"), ("a record spun backwards", "the backspin of a record", "a record backspin", "a record's backspin")),
        ("vinyl-hiss", SAMPLES.format("vinyl_hiss"), ("vinyl crackle", "the crackle of a vinyl record", "a crackling vinyl record", "a vinyl record's crackle")),
        ("rewind", SAMPLES.format("vinyl_rewind"), ("a tape rewinding", "the rewinding of a tape", "a rewinding tape", "a tape's rewind")),
        ("scratch", SAMPLES.format("vinyl_scratch"), ("a DJ scratch", "the scratch of a DJ", "a DJ scratching", "a DJ's scratch")),
    )
}
