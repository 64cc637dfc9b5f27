"""Tables as versions of files; logs, locks and backups."""
