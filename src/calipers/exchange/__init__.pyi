from calipers.exchange.production_cases import DatasetSummary as DatasetSummary
from calipers.exchange.production_cases import DuplicateCase as DuplicateCase
from calipers.exchange.production_cases import ProductionCases as ProductionCases
from calipers.exchange.production_cases import dataset_from as dataset_from
from calipers.exchange.run_export import export_run as export_run
from calipers.exchange.run_import import ImportedRun as ImportedRun
from calipers.exchange.run_import import import_run as import_run
from calipers.exchange.run_import import import_traces as import_traces
