from calipers.files.case_table import JSONColumn as JSONColumn
from calipers.files.dataset_document import Format as Format
from calipers.files.load import check_file as check_file
from calipers.files.load import load_dataset as load_dataset
from calipers.files.problem import Problem as Problem
from calipers.files.save import save_dataset as save_dataset
from calipers.files.schema import dataset_schema as dataset_schema
