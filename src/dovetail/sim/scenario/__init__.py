"""scenario — reads the file that says what is simulated: workloads, prices and failures.

    written   the words of a file, each with its default
    strict    how a tree becomes those words, and what is said when it cannot
    reading   the file itself, settings that change it, and when the simulation begins
    curves    how many replicas when
    works     workloads and cron works as the simulator takes them
    trace     the same as recorded in a CSV file
    weather   prices that move, and what fails, drawn by the seed
    case      one simulation, ready to be run

Rule 1: everything is parsed here, once; what goes on to `sim/fast` is nouns.
Rule 2: chance comes from the seed alone, one stream for each part, so that a change to one part
        leaves the others as they were.
"""
