"""journal — stores every decision with its snapshot, compactly, to be asked about later.

    edits      what differs between two lists of lines
    records    a decision as bytes, given the one before, and back
    segments   the files of a journal: which there are, which may go; the frame of each record
               in them: length, checksum, number, moment, so that a torn one is noticed
    writer     adds decisions to a folder, within bounds, and never stops the controller
    reader     reads them again, oldest or newest first; keeps the last few in memory

A record holds what changed since the record before it; the first of each file is whole, so that
files can be removed one by one, oldest first.
"""
