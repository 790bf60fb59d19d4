import type { IExecuteFunctions, INodeExecutionData, INodeType, INodeTypeDescription, JsonObject } from 'n8n-workflow';
import { NodeApiError, NodeConnectionTypes, NodeOperationError } from 'n8n-workflow';

import { call } from './call';
import { properties } from './description';

export class RelayPdf implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'RelayPDF',
		name: 'relayPdf',
		icon: { light: 'file:relaypdf.svg', dark: 'file:relaypdf.dark.svg' },
		group: ['transform'],
		version: 1,
		subtitle: '={{$parameter["operation"].replace(/_/g, " ")}}',
		description: 'Create, convert and process documents with your own relaypdf server',
		defaults: { name: 'RelayPDF' },
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		usableAsTool: true,
		credentials: [{ name: 'relayPdfApi', required: true }],
		properties,
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const items = this.getInputData();
		const results: INodeExecutionData[] = [];

		for (let i = 0; i < items.length; i++) {
			try {
				results.push({ ...(await call(this, i)), pairedItem: { item: i } });
			} catch (error) {
				if (!this.continueOnFail()) {
					throw error instanceof NodeApiError || error instanceof NodeOperationError
						? error
						: new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: i });
				}
				const { message, description } = error as NodeApiError;
				results.push({ json: { error: message, description }, pairedItem: { item: i } });
			}
		}

		return [results];
	}
}
