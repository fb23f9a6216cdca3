tags-title = Tags
tags-find = Find a tag
tags-tag = Tag
tags-saves = Saves
tags-select = Select
tags-select-one = Select { $name }
tags-selected = Selected tags
tags-selected-none = Nothing selected
tags-selected-one = 1 selected
tags-selected-many = %count% selected
tags-into = New name
tags-merge = Rename or merge
tags-merge-into = Merge into { $name }
tags-delete = Delete tags, keep saves
tags-alike = <b><bdi>{ $less }</bdi></b> and <b><bdi>{ $more }</bdi></b> look like the same tag.
tags-by-name = Sort by name
tags-by-count = Sort by number
tags-empty-title = No tags yet
tags-empty-text = Tag saves in the library, or while you save them.
tags-none-title = No tag contains this
tags-none-all = Show all tags
tags-done-merged = { $count } changed
tags-done-deleted = { $count ->
    [one] The tags are deleted from 1 save
   *[other] The tags are deleted from { $count } saves
}
