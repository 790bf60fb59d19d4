/** A route of the API, and where its request has the parameters of the node. */
export interface Route {
	method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
	path: string;
	pathParameters?: string[];
	query?: string[];
	/** Headers, by the names of their parameters. */
	headers?: Record<string, string>;
	/** Fields of which the body has one. The item's binary data is the field file. */
	sources?: string[];
	/** Fields of the body that are not in a collection. */
	required?: string[];
	/** Fields whose values are JSON. */
	json?: string[];
	/** Fields whose values are text or JSON. */
	loose?: string[];
	/** Whether the body is the item's binary data. */
	upload?: boolean;
}
