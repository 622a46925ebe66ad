"""From changes of files to rows, embeddings and a full-text index that agree."""
