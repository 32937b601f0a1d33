from calipers.models.embeddings import cosine_similarity as cosine_similarity
from calipers.models.embeddings import embed as embed
from calipers.models.embeddings import similarity as similarity
