// Lays words that were read under the pages that they were read on. It stands behind
// draw.js; see layInput for the arguments.

// straighten is the matrix that takes the skew out of a page, about its middle.
function straighten(page, degrees) {
	var b = shown(page), x = (b[0] + b[2]) / 2, y = (b[1] + b[3]) / 2, angle = -degrees * Math.PI / 180;
	var cos = Math.cos(angle), sin = Math.sin(angle);
	return times(times([1, 0, 0, 1, -x, -y], [cos, sin, -sin, cos, 0, 0]), [1, 0, 0, 1, x, y]);
}

// words makes a form of the page of words.
function words(name) {
	var source = new PDFDocument(name).findPage(0);
	return form(box(attribute(source, "MediaBox")), doc.graftObject(attribute(source, "Resources")), content(source));
}

// lay puts words under a page, and straightens both.
function lay(p) {
	var page = doc.findPage(p.page - 1), before = "q\n", size = upright(page);
	var annotations = page.get("Annots");
	if (p.skew && !(annotations && annotations.isArray() && annotations.length)) before += numbers(straighten(page, p.skew)) + " cm\n";
	if (p.words) {
		var resources = copy(attribute(page, "Resources")), objects = copy(resources.get("XObject")), name = "Words";
		for (var i = 1; objects.get(name) && !objects.get(name).isNull(); i++) name = "Words" + i;
		objects.put(name, words(p.words));
		resources.put("XObject", objects);
		page.put("Resources", resources);
		before += "q " + numbers(times(times(p.matrix, [size.w, 0, 0, size.h, 0, 0]), size.m)) + " cm /" + name + " Do Q\n";
	}
	var old = page.get("Contents"), streams = doc.newArray();
	streams.push(doc.addStream(before, doc.newDictionary()));
	if (old && old.isArray()) for (var j = 0; j < old.length; j++) streams.push(old.get(j));
	else if (old && old.isStream()) streams.push(old);
	streams.push(doc.addStream("\nQ\n", doc.newDictionary()));
	page.put("Contents", streams);
	if (p.turn) {
		var turn = attribute(page, "Rotate");
		turn = turn && turn.isNumber() ? turn.asNumber() : 0;
		page.put("Rotate", doc.newInteger((((turn + p.turn) % 360) + 360) % 360));
	}
}
for (var i = 0; i < args.pages.length; i++) lay(args.pages[i]);
doc.save(args.output, "");
print("true");
