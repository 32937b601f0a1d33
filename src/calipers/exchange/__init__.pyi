from calipers.exchange.exporting import export_run as export_run
from calipers.exchange.importing import ImportedRun as ImportedRun
from calipers.exchange.importing import import_run as import_run
