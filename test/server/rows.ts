/**
 * A row for each route: the access that it needs, and a body that it takes. A route without a row fails the tests, so nobody adds one
 * without saying who may call it.
 */
export interface Row {
  /** `open`: no caller at all. */
  readonly access: 'open' | 'viewer' | 'operator' | 'approver' | 'admin';
  readonly body?: object;
  /** The body is data as it is. */
  readonly binary?: true;
}

export const ROWS: { readonly [route: string]: Row } = {
  'GET /healthz': { access: 'open' },
  'GET /readyz': { access: 'open' },
  // Only on the machine itself; on a network it needs a viewer.
  'GET /metrics': { access: 'open' },
  'GET /v1/session': { access: 'open' },
  'POST /v1/session': { access: 'open', body: { code: 'none' } },
  'DELETE /v1/session': { access: 'viewer' },
  'GET /v1/me': { access: 'viewer' },
  'GET /v1/tokens': { access: 'admin' },
  'POST /v1/tokens': { access: 'admin', body: { name: 'made', access: ['viewer'] } },
  'DELETE /v1/tokens/{name}': { access: 'admin' },
  'GET /v1/schema': { access: 'viewer' },
  'GET /v1/scripts': { access: 'operator' },
  'GET /v1/flows': { access: 'viewer' },
  'GET /v1/flows/{flow}': { access: 'viewer' },
  'GET /v1/flows/{flow}/source': { access: 'viewer' },
  'GET /v1/flows/{flow}/graph': { access: 'viewer' },
  'PUT /v1/flows/{flow}/source': { access: 'admin', body: { text: 'x' } },
  'POST /v1/check': { access: 'operator', body: { text: 'flow: {}' } },
  'POST /v1/flows/{flow}/runs': { access: 'operator', body: { input: { message: 'x' }, script: 'refunds' } },
  'GET /v1/runs': { access: 'viewer' },
  'GET /v1/runs/{run}': { access: 'viewer' },
  'GET /v1/runs/{run}/children': { access: 'viewer' },
  'GET /v1/runs/{run}/events': { access: 'viewer' },
  'GET /v1/runs/{run}/state': { access: 'viewer' },
  'GET /v1/runs/{run}/calls/{key}': { access: 'viewer' },
  'GET /v1/runs/{run}/diff/{other}': { access: 'viewer' },
  'POST /v1/runs/{run}/replay': { access: 'viewer', body: {} },
  'GET /v1/runs/{run}/audit': { access: 'viewer' },
  'GET /v1/runs/{run}/export': { access: 'admin' },
  'POST /v1/runs/{run}/erase': { access: 'admin', body: {} },
  'POST /v1/runs/{run}/cancel': { access: 'operator', body: { why: 'x' } },
  'POST /v1/runs/{run}/resume': { access: 'operator', body: {} },
  'POST /v1/runs/{run}/signals/{name}': { access: 'operator', body: { data: 1 } },
  'POST /v1/runs/{run}/guidance': { access: 'operator', body: { text: 'x' } },
  'POST /v1/runs/{run}/fork': { access: 'operator', body: { at: 2 } },
  'POST /v1/runs/{run}/retry': { access: 'operator' },
  'GET /v1/questions': { access: 'approver' },
  'GET /v1/questions/{id}': { access: 'approver' },
  'POST /v1/questions/{id}/answer': { access: 'approver', body: { choice: 'approve', payload: 'x' } },
  'GET /v1/stream': { access: 'viewer' },
  'PUT /v1/attachments/{hash}': { access: 'operator', binary: true },
  'GET /v1/attachments/{hash}': { access: 'viewer' },
  'GET /v1/metrics/summary': { access: 'viewer' },
  'POST /v1/breakers/{name}/close': { access: 'operator', body: {} },
};
