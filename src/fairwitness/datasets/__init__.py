"""One file per source: its card (licence, counts, warning), where its raw copy comes from, and how that becomes our tables.

`card.py` says what a dataset is, `raw.py` opens copies as their authors laid them out, `web.py` and `hub.py` fetch them,
`sample.py` draws rows, `download.py` puts it together, `doctor.py` asks which sources still answer.
"""
