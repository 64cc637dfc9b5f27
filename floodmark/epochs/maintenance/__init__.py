"""What keeps tables small: merging files, folding changes, deleting what nobody needs."""
