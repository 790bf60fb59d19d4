// Replaces the content of pages by pictures of them. It stands behind draw.js.
for (var i = 0; i < args.pages.length; i++) {
	var page = doc.findPage(args.pages[i].page - 1), size = upright(page), resources = doc.newDictionary(), objects = doc.newDictionary();
	objects.put("Picture", doc.addImage(new Image(args.pages[i].image)));
	resources.put("XObject", objects);
	page.put("Resources", resources);
	page.put("Contents", doc.addStream("q " + numbers(times([size.w, 0, 0, size.h, 0, 0], size.m)) + " cm /Picture Do Q\n", doc.newDictionary()));
}
doc.save(args.output, "garbage=deduplicate,compress");
print("true");
