/**
 * One call is one HTTP request: a redirect is an answer and not followed, so that neither the prompt nor the key goes where
 * nobody sent it. What comes back has a size that can be kept.
 */
import { PerformError } from '../../runtime/failures.ts';

export type Fetch = typeof globalThis.fetch;

export const RESPONSE_BYTES_MAX = 32 * 1024 * 1024;

export function oneRequest(inner: Fetch = globalThis.fetch): Fetch {
  return async (input, init) => {
    const response = await inner(input, { ...init, redirect: 'manual' });
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(bounded()), { status, statusText, headers });
  };
}

function bounded(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      bytes += chunk.byteLength;
      if (bytes <= RESPONSE_BYTES_MAX) return controller.enqueue(chunk);
      const message = `the response is larger than ${RESPONSE_BYTES_MAX} bytes`;
      controller.error(new PerformError({ class: 'fatal', type: 'ResponseTooLargeError', message }));
    },
  });
}
