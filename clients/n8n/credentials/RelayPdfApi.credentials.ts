import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, INodeProperties } from 'n8n-workflow';

export class RelayPdfApi implements ICredentialType {
	name = 'relayPdfApi';

	displayName = 'RelayPDF API';

	icon = { light: 'file:../nodes/RelayPdf/relaypdf.svg', dark: 'file:../nodes/RelayPdf/relaypdf.dark.svg' } as const;

	documentationUrl = 'https://github.com/relaypdf/relaypdf/tree/main/clients/n8n';

	properties: INodeProperties[] = [
		{
			displayName: 'Base URL',
			name: 'baseUrl',
			type: 'string',
			default: '',
			placeholder: 'https://pdf.example.com',
			description: 'URL of your server, without a path',
			required: true,
		},
		{
			displayName: 'API Key',
			name: 'apiKey',
			type: 'string',
			typeOptions: { password: true },
			default: '',
			description: 'Key of your account, from the page Keys of the dashboard',
			required: true,
		},
	];

	authenticate: IAuthenticateGeneric = {
		type: 'generic',
		properties: {
			headers: {
				Authorization: '=Bearer {{$credentials.apiKey}}',
			},
		},
	};

	test: ICredentialTestRequest = {
		request: {
			baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}',
			url: '/v1/account',
		},
	};
}
