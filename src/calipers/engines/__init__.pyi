from calipers.engines.engine import as_engine as as_engine
from calipers.engines.processes import ProcessEngine as ProcessEngine
from calipers.engines.ray_engine import RayEngine as RayEngine
from calipers.run.place import Engine as Engine
from calipers.run.place import Job as Job
from calipers.run.place import Place as Place
