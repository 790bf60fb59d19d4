// Gives comments without an appearance the one that readers would draw. It stands behind draw.js. Fields, and comments
// with letters that MuPDF's own fonts lack, are left to appearances.go.

var latin = /^[\t\r\n -~\u00a0-\u00ff]+$/;

function lacking(o) {
	var kind = String(o.get("Subtype")), look = o.get("AP");
	if (kind === "/Link" || kind === "/Widget" || kind === "/Popup") return false;
	return !(look && look.isDictionary() && has(look, "N"));
}

function comments(number) {
	var all = doc.findPage(number).get("Annots"), any = false, i;
	for (i = 0; all && all.isArray() && i < all.length; i++) {
		var a = all.get(i); // none for null
		any = any || a && a.isDictionary() && lacking(a);
	}
	if (!any) return;

	all = doc.loadPage(number).getAnnotations();
	for (i = 0; i < all.length; i++) {
		if (!lacking(all[i].getObject()) || all[i].getType() === "FreeText" && !latin.test(all[i].getContents())) continue;
		try {
			all[i].setFlags(all[i].getFlags()); // otherwise what is drawn is not stored
			all[i].update();
		} catch (e) { } // Readers do not draw it either.
	}
}

for (var n = 0; n < doc.countPages(); n++) comments(n);
doc.save(args.output, "");
print("true");
