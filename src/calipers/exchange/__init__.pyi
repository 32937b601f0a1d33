from calipers.exchange.run_export import export_run as export_run
from calipers.exchange.run_import import ImportedRun as ImportedRun
from calipers.exchange.run_import import import_run as import_run
from calipers.exchange.run_import import import_traces as import_traces
