/** Images and files: uploads for inputs, and the attachments of runs. */
import { z } from '@hono/zod-openapi';
import { Refusal } from '../http/problem.ts';
import { addRoute, json, type App } from '../http/routing.ts';
import type { Services } from '../http/services.ts';
import { UPLOAD_ID } from '../http/uploads.ts';

const Id = z.object({ hash: z.string().regex(UPLOAD_ID, 'is no `sha256-` with 64 hexadecimal digits') });
const Reference = z
  .object({
    attachment: z.string(),
    mediaType: z.string(),
    bytes: z.number(),
    name: z.string(),
    tokens: z.number(),
  })
  .openapi('Attachment');

export function attachmentRoutes(app: App, services: Services): void {
  const { limits, uploads, attachments } = services;
  addRoute(
    app,
    services,
    {
      ...{
        method: 'put',
        path: '/v1/attachments/{hash}',
        summary: 'Stores an image or a file for the inputs of runs.',
      },
      about: 'The input names it as `{ "attachment": "sha256-…" }`. The server keeps it for a day.',
      ...{ access: 'operator', params: Id, binary: limits.attachmentBytes },
      ...{ answers: { 200: Reference, 201: Reference }, errors: ['bad-attachment'] },
    },
    async ({ params: { hash }, who, bytes, context }) => {
      const isNew = (await uploads.find(who.tenant, hash)) === null;
      const declared = context.req.header('content-type');
      const mediaType = declared === undefined || declared.startsWith(ANY) ? undefined : declared;
      return json(await uploads.add(who.tenant, hash, bytes, mediaType), isNew ? 201 : 200);
    },
  );
  addRoute(
    app,
    services,
    {
      ...{ method: 'get', path: '/v1/attachments/{hash}', summary: 'An upload, or with `run` an attachment of a run.' },
      ...{ access: 'viewer', params: Id, query: z.object({ run: z.string().max(200).optional() }) },
      ...{ answers: { 200: ANY }, errors: ['attachment-not-found', 'run-not-found'] },
    },
    async ({ params: { hash }, query: { run }, who }) => {
      if (!who.content) throw new Refusal('access-denied', 'this needs a caller who may see content');
      if (run !== undefined) await (await services.view(who)).get(run);
      const found = await (run === undefined ? uploads.find(who.tenant, hash) : attachments.find(run, hash));
      if (found === null) throw new Refusal('attachment-not-found', `there is no attachment \`${hash}\``);
      return new Response(new Uint8Array(found.data), {
        headers: {
          'content-type': found.mediaType,
          // A browser saves it and does not show it: the data is not of this server.
          'content-disposition': 'attachment',
          'cache-control': 'private, max-age=31536000, immutable',
        },
      });
    },
  );
}

const ANY = 'application/octet-stream';
