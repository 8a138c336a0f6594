"""What a call says, as pure values: data types, tensor descriptions, views, feature levels."""
