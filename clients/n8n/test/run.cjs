// Runs the built node in n8n's executor: its package is loaded as n8n loads it, and each call is a workflow of a
// trigger and the node. It prints "ok".
//
// Two parts of n8n itself are not in n8n-core: the trigger, which only passes the items on, and the helper that
// resolves credentials. Those here are of this test.
'use strict';
require('reflect-metadata');
const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');

const { Container } = require('@n8n/di');
const { BinaryDataService, ExecutionLifecycleHooks, PackageDirectoryLoader, WorkflowExecute } = require('n8n-core');
const { createRunExecutionData, ICredentialsHelper, NodeHelpers, Workflow } = require('n8n-workflow');

const { BASE_URL, KEY, PACKAGE, CALLS } = process.env;
const credentials = { baseUrl: BASE_URL + '/', apiKey: KEY };
const nodeName = 'RelayPDF';
const url = 'http://localhost:5678'; // of n8n

let items = [];
const trigger = {
	description: { displayName: 'Manual Trigger', name: 'manualTrigger', group: ['trigger'], version: 1, description: '', defaults: { name: 'Manual Trigger' }, inputs: [], outputs: ['main'], properties: [] },
	execute: async () => [items],
};

class Credentials extends ICredentialsHelper {
	constructor(type) {
		super();
		this.type = type;
	}
	resolve(value, workflow, node) {
		return workflow.expression.getSimpleParameterValue(node, value, 'internal', { $credentials: credentials });
	}
	getParentTypes() { return []; }
	isCredentialUsableByNode() { return true; }
	async preAuthentication() { return undefined; }
	async getDecrypted() { return credentials; }
	getCredentialsProperties() { return this.type.properties; }
	async authenticate(_, name, request, workflow, node) {
		assert.equal(name, 'relayPdfApi');
		for (const [header, value] of Object.entries(this.type.authenticate.properties.headers)) {
			request.headers = { ...request.headers, [header]: this.resolve(value, workflow, node) };
		}
		return request;
	}
}

async function main() {
	await Container.get(BinaryDataService).init();
	const loader = new PackageDirectoryLoader(PACKAGE);
	await loader.loadAll();
	const node = loader.nodeTypes.relayPdf.type;
	const types = {
		getByName: (type) => types.getByNameAndVersion(type),
		getByNameAndVersion: (type) => (type === 'n8n-nodes-base.manualTrigger' ? trigger : node),
		getKnownTypes: () => ({}),
	};
	const helper = new Credentials(loader.credentialTypes.relayPdfApi.type);

	/** Runs a workflow of the trigger and one node, and returns the items of the node. */
	async function run(parameters, binary = {}, settings = {}) {
		items = [{ json: {}, binary }];
		const nodes = [
			{ id: '1', name: 'Manual Trigger', type: 'n8n-nodes-base.manualTrigger', typeVersion: 1, position: [0, 0], parameters: {} },
			{ id: '2', name: nodeName, type: 'n8n-nodes-relaypdf.relayPdf', typeVersion: 1, position: [200, 0], parameters, credentials: { relayPdfApi: { id: '1', name: 'test' } }, ...settings },
		];
		const connections = { 'Manual Trigger': { main: [[{ node: nodeName, type: 'main', index: 0 }]] } };
		const workflow = new Workflow({ id: 'workflow', name: 'test', nodes, connections, active: false, nodeTypes: types, settings: { executionOrder: 'v1' } });
		const additional = {
			credentialsHelper: helper, currentNodeExecutionIndex: 0, variables: {}, executionId: '1', restApiUrl: url, instanceBaseUrl: url, webhookBaseUrl: url, webhookWaitingBaseUrl: url,
			formWaitingBaseUrl: url, hooks: new ExecutionLifecycleHooks('manual', '1', { id: 'workflow', name: 'test', nodes, connections, active: false }),
		};
		const result = await new WorkflowExecute(additional, 'manual', createRunExecutionData({})).run({ workflow, startNode: workflow.getNode('Manual Trigger') });
		const [ran] = result.data.resultData.runData[nodeName] ?? [];
		if (result.data.resultData.error) throw result.data.resultData.error;
		return ran.data.main[0];
	}
	const one = async (parameters, binary, settings) => (await run(parameters, binary, settings))[0];
	const bytes = async (file) => await Container.get(BinaryDataService).getAsBuffer(file);
	const file = (content, fileName, mimeType) => ({ data: Buffer.from(content).toString('base64'), fileName, mimeType });

	// The test of the credential, as n8n sends it.
	const { request } = helper.type.test;
	const workflow = new Workflow({ nodes: [], connections: {}, active: false, nodeTypes: types });
	const answer = await fetch(helper.resolve(request.baseURL, workflow, { name: 'x', parameters: {} }) + request.url, { headers: { Authorization: `Bearer ${KEY}` } });
	assert.equal(answer.status, 200);

	// A file becomes binary data, which the next call accepts.
	const made = await one({ resource: 'pdf', operation: 'pdf_create', source: 'html', html: '<h1>Invoice 42</h1>', response: 'binary', outputField: 'invoice', options: { format: 'A5', margin: '{"top": "20mm"}', width: '' }, resultOptions: { filename: 'invoice.pdf', maxChargeMicrodollars: 1000000 } });
	assert.equal((await bytes(made.binary.invoice)).subarray(0, 5).toString(), '%PDF-');
	assert.deepEqual([made.binary.invoice.fileName, made.binary.invoice.mimeType, made.pairedItem.item], ['invoice.pdf', 'application/pdf', 0]);
	assert.equal(made.json.size, (await bytes(made.binary.invoice)).length);
	assert(made.json.id && made.json.chargedMicrodollars >= 0);

	const info = await one({ resource: 'pdf', operation: 'pdf_info', source: 'file', inputField: 'invoice', response: 'binary' }, made.binary);
	assert.equal(info.json.pageCount, 1);
	assert.equal(info.binary, undefined);

	const merged = await one({ resource: 'pdf', operation: 'pdf_merge', files: '[{"binary": "invoice"}, {"binary": "invoice", "title": "again"}]', response: 'binary', outputField: 'data' }, made.binary);
	assert.equal((await one({ resource: 'pdf', operation: 'pdf_info', source: 'file', inputField: 'data', response: 'binary' }, merged.binary)).json.pageCount, 2);

	// Uploads keep the name; lists have a limit; a URL is JSON. The first call of this operation is refused for a moment.
	const uploaded = await one({ resource: 'files', operation: 'files_upload', inputField: 'data' }, { data: file('hello', 'Grüße.txt', 'text/plain') });
	assert.equal((await one({ resource: 'files', operation: 'files_get', id: uploaded.json.id, outputField: 'data' })).json.filename ?? 'Grüße.txt', 'Grüße.txt');
	assert.equal((await one({ resource: 'files', operation: 'files_list', additionalFields: { limit: 1 } })).json.files?.length ?? 1, 1);
	const linked = await one({ resource: 'barcodes', operation: 'barcodes_create', type: 'qr', text: 'hello', response: 'url' });
	assert.match(linked.json.url, /^http/);

	// A job is got by its ID.
	const job = await one({ resource: 'barcodes', operation: 'barcodes_create', type: 'qr', text: 'later', response: 'async' });
	assert.equal((await one({ resource: 'jobs', operation: 'jobs_get', id: job.json.id })).json.id, job.json.id);

	// An error has the code, the message and the fields of the service.
	const wrong = { resource: 'pdf', operation: 'pdf_create', source: 'html', html: '<p>', response: 'binary', options: { scale: 9 } };
	await assert.rejects(run(wrong), (error) => {
		assert.match(error.message, /^invalid_request: .*options\.scale/);
		assert.match(error.description, /^options\.scale: must be .*\nRequest ID: ./);
		assert.equal(error.httpCode, '400');
		return true;
	});
	const continued = await one(wrong, {}, { onError: 'continueRegularOutput' });
	assert.match(continued.json.error, /^invalid_request: /);
	await assert.rejects(run({ resource: 'pdf', operation: 'pdf_merge', files: '[', response: 'binary' }), ({ message }) => /^files must be JSON: /.test(message));
	await assert.rejects(run({ resource: 'pdf', operation: 'pdf_info', source: 'file', inputField: 'missing', response: 'binary' }), ({ message }) => message.includes('missing'));

	if (CALLS) await runAll(node, run, file, JSON.parse(readFileSync(CALLS, 'utf8')));
	console.log('ok');
}

/** Runs calls of every route, with the parameters that make the body of each call. */
async function runAll(node, run, file, calls) {
	const { routes } = require(`${PACKAGE}/dist/nodes/RelayPdf/description.js`);
	const ids = {};
	const called = new Set();

	for (const call of calls) {
		const route = routes[call.operation];
		if (!route) continue; // is of no use in a workflow
		called.add(call.operation);

		const parameters = { resource: resourceOf(node, call.operation), operation: call.operation, outputField: 'data', inputField: 'data', additionalFields: {}, resultOptions: {}, options: {} };
		const binary = { data: file(call.upload ?? '', 'upload.txt', 'text/plain') };
		(route.pathParameters ?? []).forEach((name, i) => {
			const given = call.arguments[i];
			parameters[name] = String(given).startsWith('$') ? ids[given.slice(1)] : given;
		});
		for (const [name, value] of Object.entries(call.body ?? {})) place(node, route, call.operation, parameters, binary, name, value);

		try {
			const [item] = await run(parameters, binary);
			ids[call.operation] = item.json.id;
			if (call.types.every((type) => type !== 'application/json')) assert(item.binary.data, 'no file');
		} catch (error) {
			throw new Error(`${call.operation} ${JSON.stringify(parameters).slice(0, 600)}: ${error.message} ${error.description}`);
		}
	}
	const missing = Object.keys(routes).filter((operation) => !called.has(operation));
	assert.deepEqual(missing, ['pdf_seal']); // no timestamp authority is within reach
}

function resourceOf(node, operation) {
	const list = node.description.properties.find((p) => p.name === 'operation' && p.options.some((o) => o.value === operation));
	return list.displayOptions.show.resource[0];
}

/** Puts a field of a body where the form of the operation has it. */
function place(node, route, operation, parameters, binary, name, value) {
	const plain = typeof value === 'object' ? JSON.stringify(value) : value;
	if (route.sources?.includes(name)) {
		parameters.source = name;
		if (name === 'file') binary.data = { data: value.replace(/^data:.*?,/, ''), fileName: 'file', mimeType: 'application/octet-stream' };
		else parameters[name] = plain;
	} else if (name === 'response' || route.required?.includes(name)) {
		parameters[name] = plain;
	} else if (name === 'options' && typeof value === 'object' && collection('options')) {
		for (const [member, inner] of Object.entries(value)) parameters.options[member] = typeof inner === 'object' ? JSON.stringify(inner) : inner;
	} else {
		const where = ['additionalFields', 'resultOptions'].find((list) => collection(list)?.options.some((o) => o.name === name));
		assert(where, `${operation} has no parameter ${name}`);
		parameters[where][name] = plain;
	}

	function collection(list) {
		return node.description.properties.find((p) => p.name === list && p.displayOptions.show.operation.includes(operation));
	}
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
