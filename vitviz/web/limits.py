"""Every bound of the web app in one place: what a host may want to change.

The limits of a picture itself (bytes, pixels, formats) are those of `vitviz.model.photo`: they hold
behind every door.
"""

from ..model.photo import MAX_BYTES

UPLOAD_BYTES = MAX_BYTES  # of one file; larger uploads are cut off while they arrive
QUEUE_SIZE = 64  # requests that may wait; the next one is told to come back later
WORKERS = 4  # requests at a time: one may wait for a download while others compute
DRAWING_WAIT_SECONDS = 30  # for figures that others have asked for; one is drawn at a time
COMPUTING = 1  # forward passes at a time; torch already uses every core for one
MODELS_KEPT = 3  # loaded models in memory; the one not used for longest is dropped
CACHE_SWEEP_SECONDS, CACHE_AGE_SECONDS = 600, 3600  # files of an analysis live this long
DISK_RESERVE_BYTES = 10**9  # of the cache's disk that must stay free; below it nothing is analyzed
ANALYSES_KNOWN = 1000  # that a viewer may ask about; their files live in the cache
PAGES_KNOWN = 1000  # of which we know what they asked for last
TOP_CLASSES = 5  # predictions in the answer of the API
