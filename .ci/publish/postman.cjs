// postman.cjs OPENAPI.json COLLECTION.json converts the OpenAPI document to a Postman collection.
'use strict';
const fs = require('node:fs');
const { convertV2 } = require('openapi-to-postmanv2');

const [source, target] = process.argv.slice(2);
const options = {
	folderStrategy: 'Tags', requestNameSource: 'Fallback', parametersResolution: 'Example',
	disableOptionalParameters: true, alwaysInheritAuthentication: true,
};

convertV2({ type: 'string', data: fs.readFileSync(source, 'utf8') }, options, (error, result) => {
	if (error || !result.result) throw new Error(error?.message ?? result.reason);
	const collection = result.output[0].data;

	collection.auth = { type: 'bearer', bearer: [{ key: 'token', value: '{{apiKey}}', type: 'string' }] };
	collection.variable = [
		{ key: 'baseUrl', value: 'http://localhost:8787', type: 'string', description: 'URL of the server' },
		{ key: 'apiKey', value: '', type: 'string', description: 'API key of your account' },
	];
	complete(collection.item);
	fs.writeFileSync(target, JSON.stringify(collection));
});

/**
 * Lets requests inherit the key, and switches optional headers off, whose values are random text. It drops the examples
 * of errors, which are the same in every request.
 */
function complete(items) {
	for (const item of items) {
		if (item.item) {
			complete(item.item);
			continue;
		}
		delete item.request.auth;
		for (const header of item.request.header) {
			if (!['Accept', 'Content-Type'].includes(header.key)) Object.assign(header, { value: '', disabled: true });
		}
		item.response = item.response.filter(({ code }) => code < 300);
	}
}
