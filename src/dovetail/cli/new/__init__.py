"""cli.new — commands that write manifests from what a person wants: flags, a file, or answers."""
