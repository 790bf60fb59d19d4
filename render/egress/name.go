package egress

import "strings"

// metadataNames are the names under which clouds hand out credentials. Most of
// them resolve inwards and would be refused by address anyway; some do not.
func metadataNames() []string {
	return []string{
		"metadata",
		"metadata.google.internal",
		"metadata.goog",
		"metadata.azure.internal",
		"metadata.azure.com",
		"instance-data",
		"instance-data.ec2.internal",
		"metadata.tencentyun.com",
		"metadata.packet.net",
		"metadata.platformequinix.com",
	}
}

// decideName refuses the names that mean this machine or a metadata service
// before anything is asked of the DNS. Other inward names (.local, .internal,
// plain ones) are judged by the address they resolve to.
func decideName(name string) decision {
	if isOrUnder(name, "localhost") {
		return decision{reasonName, "localhost"}
	}

	for _, m := range metadataNames() {
		if isOrUnder(name, m) {
			return decision{reasonMetadata, "metadata name"}
		}
	}
	return decision{}
}

// isOrUnder reports whether name is parent or a name below it.
func isOrUnder(name, parent string) bool {
	rest, ok := strings.CutSuffix(name, parent)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

// blockedPort reports whether port belongs to another protocol than HTTP that an HTTP request could trigger: mail,
// remote shells, chat. The list is the Fetch Standard's "bad ports". Chromium has it too, but wkhtmltopdf, webhooks
// and file fetches do not. All other ports are open, because web servers use any of them.
func blockedPort(port uint16) bool {
	switch port {
	case 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
		101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
		389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601,
		636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566,
		6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080:
		return true
	}
	return false
}
