/**
 * Serves the refund service on port 3000.
 *
 *   OPENAI_API_KEY=… node examples/refund-server.ts
 *   curl -d '{"message": "The kettle A-1042 leaks. I want my $49.50 back."}' localhost:3000/refunds
 */
import { serve } from '@hono/node-server';
import { createService } from './refund-service.ts';

serve({ fetch: createService().app.fetch, port: 3000 });
