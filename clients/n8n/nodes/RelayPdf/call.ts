import type {
	IDataObject,
	IExecuteFunctions,
	IHttpRequestOptions,
	IN8nHttpFullResponse,
	INodeExecutionData,
	JsonObject,
} from 'n8n-workflow';
import { NodeApiError, NodeOperationError, sleep } from 'n8n-workflow';

import { routes } from './description';
import type { Route } from './route';

/** A refused call is free. It is sent again up to this often, if the service asks for at most so many seconds. */
const maxAttempts = 4;
const maxWait = 60;

type Content = Parameters<IExecuteFunctions['helpers']['binaryToBuffer']>[0];

/** Sends the request of one item, and returns its result: JSON, or a file as binary data. */
export async function call(node: IExecuteFunctions, item: number): Promise<INodeExecutionData> {
	const operation = node.getNodeParameter('operation', item) as string;
	const route = routes[operation];
	if (!route) {
		throw new NodeOperationError(node.getNode(), `The operation "${operation}" is not known`, { itemIndex: item });
	}

	const fields: IDataObject = {
		...(node.getNodeParameter('additionalFields', item, {}) as IDataObject),
		...(node.getNodeParameter('resultOptions', item, {}) as IDataObject),
	};
	const request: IHttpRequestOptions = {
		method: route.method,
		url: path(node, item, route),
		qs: take(fields, route.query ?? []),
		headers: {},
	};
	for (const [name, header] of Object.entries(route.headers ?? {})) {
		const value = take(fields, [name])[name];
		if (value !== undefined) request.headers![header] = String(value);
	}

	if (route.upload) {
		return await response(node, item, await upload(node, item, node.getNodeParameter('inputField', item) as string));
	}
	if (['POST', 'PUT', 'PATCH'].includes(route.method)) {
		request.body = await body(node, item, route, fields);
		request.headers!['Content-Type'] = 'application/json';
	}
	return await response(node, item, await send(node, item, request));
}

function path(node: IExecuteFunctions, item: number, route: Route): string {
	return route.path.replace(/\{(\w+)\}/g, (_, name: string) =>
		encodeURIComponent(String(node.getNodeParameter(name, item))),
	);
}

/** Removes members from an object, and returns those that have a value. */
function take(object: IDataObject, names: string[]): IDataObject {
	const taken: IDataObject = {};
	for (const name of names) {
		if (object[name] !== undefined && object[name] !== '') taken[name] = object[name];
		delete object[name];
	}
	return taken;
}

/** Returns the JSON body, whose files have been uploaded. */
async function body(node: IExecuteFunctions, item: number, route: Route, fields: IDataObject): Promise<IDataObject> {
	const sent: IDataObject = {};
	const set = async (field: string, name: string, value: unknown, into: IDataObject) => {
		if (value === '' || value === undefined) return;
		into[name] = (await withFiles(node, item, parse(node, item, route, field, value))) as IDataObject;
	};

	if (route.sources) {
		const source = node.getNodeParameter('source', item) as string;
		if (source === 'file') {
			sent.fileId = await fileId(node, item, node.getNodeParameter('inputField', item) as string);
		} else {
			await set(source, source, node.getNodeParameter(source, item), sent);
		}
	}
	for (const name of route.required ?? []) await set(name, name, node.getNodeParameter(name, item, ''), sent);
	for (const [name, value] of Object.entries(fields)) await set(name, name, value, sent);

	const response = node.getNodeParameter('response', item, '') as string;
	if (response) sent.response = response;

	const options: IDataObject = {};
	for (const [name, value] of Object.entries(node.getNodeParameter('options', item, {}) as IDataObject)) {
		await set(`options.${name}`, name, value, options);
	}
	if (Object.keys(options).length > 0) sent.options = options;
	return sent;
}

/** Returns the value of a field, which can be JSON in a text. */
function parse(node: IExecuteFunctions, item: number, route: Route, field: string, value: unknown): unknown {
	const json = route.json?.includes(field);
	const loose = route.loose?.includes(field);
	if (typeof value !== 'string' || !(json || (loose && /^\s*[[{]/.test(value)))) return value;
	try {
		return JSON.parse(value);
	} catch (error) {
		throw new NodeOperationError(node.getNode(), `${field} must be JSON: ${(error as Error).message}`, { itemIndex: item });
	}
}

/** Replaces each {"binary": "NAME"} of a value by the ID of the file in that binary field. */
async function withFiles(node: IExecuteFunctions, item: number, value: unknown): Promise<unknown> {
	if (Array.isArray(value)) return await Promise.all(value.map(async (member) => await withFiles(node, item, member)));
	if (typeof value !== 'object' || value === null) return value;

	const { binary, ...others } = value as IDataObject;
	if (typeof binary === 'string') return { ...others, fileId: await fileId(node, item, binary) };
	const members = Object.entries(value).map(async ([name, member]) => [name, await withFiles(node, item, member)]);
	return Object.fromEntries((await Promise.all(members)) as Array<[string, unknown]>);
}

async function fileId(node: IExecuteFunctions, item: number, field: string): Promise<string> {
	const uploaded = await response(node, item, await upload(node, item, field));
	return uploaded.json.id as string;
}

async function upload(node: IExecuteFunctions, item: number, field: string): Promise<IN8nHttpFullResponse> {
	const binary = node.helpers.assertBinaryData(item, field);
	const headers: IDataObject = { 'Content-Type': 'application/octet-stream' };
	if (binary.fileName) headers['X-Filename'] = encodeURIComponent(binary.fileName);
	const content = await node.helpers.getBinaryDataBuffer(item, field);
	return await send(node, item, { method: 'POST', url: '/v1/files', headers, body: content });
}

/** Sends a request, again if the service asks to wait, and throws the error that the service returns. */
async function send(node: IExecuteFunctions, item: number, request: IHttpRequestOptions): Promise<IN8nHttpFullResponse> {
	const { baseUrl } = await node.getCredentials('relayPdfApi', item);
	const url = (baseUrl as string).replace(/\/+$/, '') + request.url;
	for (let attempt = 1; ; attempt++) {
		const answer = (await node.helpers.httpRequestWithAuthentication.call(node, 'relayPdfApi', {
			...request,
			url,
			encoding: 'stream',
			returnFullResponse: true,
			ignoreHttpStatusErrors: true,
		})) as IN8nHttpFullResponse;
		if (answer.statusCode < 400) return answer;

		const text = await node.helpers.binaryToString(answer.body as Content);
		const seconds = Number(answer.headers['retry-after'] ?? NaN);
		if (![429, 503].includes(answer.statusCode) || !(seconds <= maxWait) || attempt === maxAttempts) {
			throw apiError(node, item, answer, text);
		}
		await sleep(seconds * 1000);
	}
}

/** Returns the service's error with its code, its message and the fields that it names. */
function apiError(node: IExecuteFunctions, item: number, answer: IN8nHttpFullResponse, text: string): NodeApiError {
	let error: { code?: string; message?: string; details?: Array<{ field?: string; message?: string }>; requestId?: string } = {};
	try {
		error = (JSON.parse(text) as { error?: typeof error }).error ?? {};
	} catch {
		// A proxy in front of the service has answered.
	}

	const details = (error.details ?? []).map(({ field, message }) => [field, message].filter(Boolean).join(': '));
	if (error.requestId) details.push(`Request ID: ${error.requestId}`);
	return new NodeApiError(node.getNode(), error as JsonObject, {
		message: error.code ? `${error.code}: ${error.message}` : `The server returned status ${answer.statusCode}`,
		description: details.join('\n') || text.slice(0, 500),
		httpCode: String(answer.statusCode),
		itemIndex: item,
	});
}

/** Returns the result: JSON as such, and a file as binary data with the facts of its headers. */
async function response(node: IExecuteFunctions, item: number, answer: IN8nHttpFullResponse): Promise<INodeExecutionData> {
	const headers = answer.headers as Record<string, string | undefined>;
	const type = headers['content-type']?.split(';')[0];
	const content = answer.body as Content;
	if (type === 'application/json') {
		return { json: JSON.parse(await node.helpers.binaryToString(content)) as IDataObject, pairedItem: { item } };
	}

	const field = node.getNodeParameter('outputField', item, 'data') as string;
	const file = await node.helpers.prepareBinaryData(content, filename(headers['content-disposition']), type);
	const json: IDataObject = {
		id: headers['x-service-id'],
		size: Number(headers['x-service-size']),
		chargedMicrodollars: Number(headers['x-service-charged-microdollars']),
	};
	if (headers['x-service-warnings']) json.warnings = headers['x-service-warnings'];
	return { json, binary: { [field]: file }, pairedItem: { item } };
}

function filename(disposition = ''): string | undefined {
	const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
	if (encoded) return decodeURIComponent(encoded);
	return /filename="?([^";]+)"?/i.exec(disposition)?.[1];
}
