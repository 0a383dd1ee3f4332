/**
 * The functions of the schema. What stores something is one call of one function: one statement, one round trip, one flush of the
 * server's log. The server keeps their plans, also behind a pool of connections that keeps no session. Each call adds one row to a
 * chain of heads, in the same transaction: the function knows which appends it has refused, and the row names the others.
 *
 * The settings of a function hold while it runs: a plan that was made when the tables were empty stays good when they are full.
 */

const PLANS = 'SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off';

export const FUNCTIONS = `
CREATE FUNCTION @digest(given text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT rtrim(translate(encode(sha256(convert_to(given, 'UTF8')), 'base64'), '+/', '-_'), '=')
$$;

-- Of all columns of a run but its owner, which changes with every claim.
CREATE FUNCTION @listing(store text, r @runs, graph text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT rtrim(translate(encode(sha256(convert_to(concat_ws(E'\\n', store, r.id, quote_nullable(r.run), graph, quote_nullable(r.flow),
    quote_nullable(r.notation), r.status, quote_nullable(r.code), r.started_at, r.updated_at, quote_nullable(r.due),
    quote_nullable(r.tenant), quote_nullable(r."user"), quote_nullable(r.thread), quote_nullable(r.parent), r.details), 'UTF8')),
    'base64'), '+/', '-_'), '=')
$$;

-- Adds a row to a chain. Without a chain it begins one.
CREATE FUNCTION @head(p_chain bigint, p_number bigint, p_prev text, p_records text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_chain bigint := coalesce(p_chain, nextval('@chains'));
  v_body text := '{"prev":' || to_json(p_prev) || p_records || '}';
  v_hash text;
BEGIN
  SELECT @digest(id || E'\\n' || v_chain || ' ' || p_number || E'\\n' || v_body) INTO v_hash FROM @store;
  INSERT INTO @heads (chain, number, body, hash) VALUES (v_chain, p_number, v_body, v_hash);
  RETURN json_build_object('chain', v_chain, 'number', p_number, 'hash', v_hash);
END $$;

-- The appends of at most one segment of each run. p_segments: i, r (run), a (after), e (events), h (head), g (signed checkpoints),
-- m (1 if its row in runs changes). p_log: i, p (position), a, n (count), t (at), b (body), h (hash). p_more: everything else.
CREATE FUNCTION @commit(p_worker text, p_chain bigint, p_number bigint, p_prev text, p_segments json, p_names text[], p_log json, p_more json)
RETURNS json LANGUAGE plpgsql ${PLANS} AS $$
DECLARE
  v_worker bigint;
  v_store text;
  v_place bigint;
  v_done int[];
  v_ids bigint[];
  v_chain bigint;
  v_listed text;
  v_moved text;
BEGIN
  SELECT w.id INTO v_worker FROM @workers w WHERE w.worker = p_worker AND NOT w.fenced;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- Before the transaction has a number: a reader of changes knows by this lock which numbers may still appear.
  LOCK TABLE @log IN ROW EXCLUSIVE MODE;
  SELECT s.id, s.base + pg_current_xact_id()::text::bigint * 4096 INTO v_store, v_place FROM @store s;
  IF p_more IS NOT NULL AND p_more -> 'starts' IS NOT NULL THEN PERFORM @begin_runs(v_worker, p_more); END IF;

  PERFORM 1 FROM @ends e WHERE e.name = ANY (p_names) ORDER BY e.run FOR UPDATE;
  SELECT array_agg(s.i), array_agg(own.id) INTO v_done, v_ids
    FROM json_to_recordset(p_segments) AS s (i int, r text, a bigint, m int)
    JOIN @runs own ON own.run = s.r JOIN @ends e ON e.run = own.id AND e.name = own.run
    WHERE e.events = s.a AND (s.a = 0 OR own.owner = v_worker OR (own.owner IS NULL AND own.status = 'suspended'))
      -- A row that was changed from outside is not listed again, because the new entry would cover the change.
      AND (s.m = 0 OR s.a = 0 OR e.listing = @listing(v_store, own, (SELECT f.hash FROM @flows f WHERE f.id = own.graph)));
  IF v_done IS NULL THEN RETURN json_build_object('done', '[]'::json); END IF;

  INSERT INTO @log (run, after, count, at, body, hash, place)
    SELECT d.id, l.a, l.n, l.t, l.b, l.h, v_place + l.p
    FROM json_to_recordset(p_log) AS l (i int, p int, a bigint, n int, t bigint, b text, h text)
    JOIN unnest(v_done, v_ids) AS d (i, id) ON d.i = l.i;
  IF p_more IS NOT NULL THEN PERFORM @store_more(v_worker, v_done, v_ids, p_more); END IF;

  v_chain := coalesce(p_chain, nextval('@chains'));
  WITH placed AS (
    UPDATE @ends e SET events = s.e, head = s.h, signed = e.signed + s.g, chain = v_chain, number = p_number, listing =
      CASE WHEN s.m = 0 THEN e.listing ELSE
        (SELECT @listing(v_store, r, f.hash) FROM @runs r LEFT JOIN @flows f ON f.id = r.graph WHERE r.id = d.id) END
    FROM json_to_recordset(p_segments) AS s (i int, e bigint, h text, g int, m int)
    JOIN unnest(v_done, v_ids) AS d (i, id) ON d.i = s.i
    WHERE e.run = d.id
    RETURNING e.run, e.name, e.events, e.head, e.signed, e.listing, s.m
  )
  SELECT string_agg(format('[%s,%s,%s,%s,%s,%s]', p.run, to_json(p.name), p.events, to_json(p.head), p.signed, to_json(p.listing)), ',')
      FILTER (WHERE p.m = 1),
    string_agg(format('[%s,%s,%s,%s]', p.run, p.events, to_json(p.head), p.signed), ',') FILTER (WHERE p.m = 0)
    INTO v_listed, v_moved FROM placed p;
  RETURN (@head(v_chain, p_number, p_prev,
    coalesce(',"runs":[' || v_listed || ']', '') || coalesce(',"moves":[' || v_moved || ']', ''))::jsonb
    || jsonb_build_object('done', to_jsonb(v_done)))::json;
END $$;

-- The rows of new runs. One whose id or thread is taken gets none.
CREATE FUNCTION @begin_runs(p_worker bigint, p_more json) RETURNS void LANGUAGE plpgsql ${PLANS} AS $$
BEGIN
  INSERT INTO @flows (hash, text) SELECT f.hash, f.text FROM json_to_recordset(p_more -> 'flows') AS f (hash text, text text)
    WHERE NOT EXISTS (SELECT 1 FROM @flows k WHERE k.hash = f.hash) ON CONFLICT DO NOTHING;
  WITH made AS (
    INSERT INTO @runs (run, graph, flow, notation, status, code, started_at, updated_at, due, owner, tenant, "user", thread, parent, details)
    SELECT s.r, f.id, s.flow, s.notation, s.s, s.c, s.started, s.t, s.d,
      CASE WHEN s.s IN ('pending', 'running') THEN p_worker END, s.tenant, s.usr, s.thread, s.parent, coalesce(s.k, '')
    FROM json_to_recordset(p_more -> 'starts') AS s (i int, r text, graph text, flow text, notation text, s text, c text,
      started bigint, t bigint, d bigint, tenant text, usr text, thread text, parent text, k text)
    JOIN @flows f ON f.hash = s.graph
    WHERE NOT EXISTS (SELECT 1 FROM @tombstones x WHERE x.run = s.r)
    ORDER BY s.i
    ON CONFLICT DO NOTHING
    RETURNING id, run
  )
  INSERT INTO @ends (run, name, events, head, signed, listing, chain, number) SELECT id, run, 0, '', 0, '', 0, 0 FROM made
    ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION @store_more(p_worker bigint, p_done int[], p_ids bigint[], p_more json) RETURNS void LANGUAGE plpgsql ${PLANS} AS $$
BEGIN
  IF p_more -> 'entries' IS NOT NULL THEN
    UPDATE @runs r SET status = coalesce(s.s, r.status), code = CASE WHEN s.s IS NULL THEN r.code ELSE s.c END,
      due = CASE WHEN s.s IS NULL THEN r.due ELSE s.d END, updated_at = coalesce(s.t, r.updated_at),
      owner = CASE WHEN s.s IS NULL THEN r.owner WHEN s.s IN ('pending', 'running') THEN p_worker END, details = coalesce(s.k, r.details)
    FROM json_to_recordset(p_more -> 'entries') AS s (i int, s text, c text, d bigint, t bigint, k text)
    JOIN unnest(p_done, p_ids) AS d (i, id) ON d.i = s.i WHERE r.id = d.id;
  END IF;
  IF p_more -> 'facts' IS NOT NULL THEN
    INSERT INTO @run_facts AS k (run, seq, steps, input_tokens, output_tokens, cost_micros, questions, node, error, message)
    SELECT d.id, s.a, s.b, s.c, s.d, s.e, s.f, s.g, s.h, s.j
    FROM json_to_recordset(p_more -> 'facts') AS s (i int, a bigint, b bigint, c bigint, d bigint, e bigint, f bigint, g text, h text, j text)
    JOIN unnest(p_done, p_ids) AS d (i, id) ON d.i = s.i
    ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, steps = excluded.steps, input_tokens = excluded.input_tokens,
      output_tokens = excluded.output_tokens, cost_micros = excluded.cost_micros, questions = excluded.questions,
      node = excluded.node, error = excluded.error, message = excluded.message;
    DELETE FROM @questions q USING json_to_recordset(p_more -> 'facts') AS s (i int) JOIN unnest(p_done, p_ids) AS d (i, id) ON d.i = s.i
      WHERE q.run = d.id;
  END IF;
  IF p_more -> 'questions' IS NOT NULL THEN
    INSERT INTO @questions (run, position, question, node, asked_at, expires_at, tenant)
    SELECT d.id, s.p, s.q, s.n, s.a, s.x, r.tenant
    FROM json_to_recordset(p_more -> 'questions') AS s (i int, p int, q text, n text, a bigint, x bigint)
    JOIN unnest(p_done, p_ids) AS d (i, id) ON d.i = s.i JOIN @runs r ON r.id = d.id;
  END IF;
  IF p_more -> 'blobs' IS NOT NULL THEN
    INSERT INTO @blobs (run, hash, body) SELECT d.id, s.h, s.b FROM json_to_recordset(p_more -> 'blobs') AS s (i int, h text, b text)
    JOIN unnest(p_done, p_ids) AS d (i, id) ON d.i = s.i ON CONFLICT DO NOTHING;
  END IF;
  IF p_more -> 'snapshots' IS NOT NULL THEN
    INSERT INTO @snapshots AS k (run, seq, hash, body)
    SELECT d.id, s.q, s.h, s.b FROM json_to_recordset(p_more -> 'snapshots') AS s (i int, q bigint, h text, b text)
    JOIN unnest(p_done, p_ids) AS d (i, id) ON d.i = s.i
    ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, body = excluded.body WHERE excluded.seq > k.seq;
  END IF;
  IF p_more -> 'checkpoints' IS NOT NULL THEN
    INSERT INTO @checkpoints (run, seq, head, at, key, signature)
    SELECT d.id, s.q, s.h, s.t, s.k, s.s FROM json_to_recordset(p_more -> 'checkpoints') AS s (i int, q bigint, h text, t bigint, k text, s text)
    JOIN unnest(p_done, p_ids) AS d (i, id) ON d.i = s.i;
  END IF;
END $$;

-- Null if there is no run.
CREATE FUNCTION @post(p_chain bigint, p_number bigint, p_prev text, p_run text, p_fact text, p_hash text) RETURNS json LANGUAGE plpgsql ${PLANS} AS $$
DECLARE
  v_chain bigint := coalesce(p_chain, nextval('@chains'));
  v_id bigint;
BEGIN
  -- A removal waits for this transaction, and so this one sees a removal that was first.
  PERFORM 1 FROM @runs r WHERE r.run = p_run FOR KEY SHARE;
  INSERT INTO @mail (run, fact, hash, chain, number) SELECT r.id, p_fact, p_hash, v_chain, p_number FROM @runs r WHERE r.run = p_run
    RETURNING id INTO v_id;
  IF v_id IS NULL THEN RETURN NULL; END IF;
  RETURN @head(v_chain, p_number, p_prev, format(',"posted":[[%s,%s]]', v_id, to_json(p_hash)));
END $$;

-- Letters that are done. A forged one was never recorded, and is not recorded now.
CREATE FUNCTION @take(p_chain bigint, p_number bigint, p_prev text, p_done bigint[]) RETURNS json LANGUAGE plpgsql ${PLANS} AS $$
DECLARE
  v_done text;
BEGIN
  WITH gone AS (DELETE FROM @mail m WHERE m.id = ANY (p_done) RETURNING m.id, m.chain, m.number)
  SELECT string_agg(g.id::text, ',') INTO v_done FROM gone g JOIN @heads h ON h.chain = g.chain AND h.number = g.number
    WHERE strpos(h.body, '[' || g.id || ',"') > 0;
  IF v_done IS NULL THEN RETURN NULL; END IF;
  RETURN @head(p_chain, p_number, p_prev, ',"done":[' || v_done || ']');
END $$;

-- Null if the value has another version. A value that was changed from outside counts as absent: it may be replaced.
CREATE FUNCTION @swap(p_chain bigint, p_number bigint, p_prev text, p_key text, p_version text, p_damaged text, p_value text, p_hash text, p_act json)
RETURNS json LANGUAGE plpgsql ${PLANS} AS $$
DECLARE
  v_now text;
  v_changes bigint := 1;
BEGIN
  SELECT s.hash INTO v_now FROM @shared s WHERE s.key = p_key FOR UPDATE;
  IF NOT FOUND AND p_version = '' THEN
    INSERT INTO @shared (key, value, hash) VALUES (p_key, p_value, p_hash) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RETURN NULL; END IF;
    UPDATE @store SET shared = shared + 1;
  ELSIF v_now = coalesce(nullif(p_version, ''), p_damaged) THEN
    UPDATE @shared s SET value = p_value, hash = p_hash, changes = s.changes + 1 WHERE s.key = p_key RETURNING s.changes INTO v_changes;
  ELSE RETURN NULL;
  END IF;
  IF p_act IS NOT NULL THEN
    INSERT INTO @acts (number, at, who, what, key, why, link)
      SELECT coalesce((SELECT max(a.number) FROM @acts a), 0) + 1, x.at, x.who, x.what, p_key, x.why, x.link
      FROM json_to_record(p_act) AS x (at bigint, who text, what text, why text, link text);
    UPDATE @store SET acts = p_act ->> 'link';
  END IF;
  RETURN @head(p_chain, p_number, p_prev, coalesce(format(',"acts":[%s]', p_act -> 'link'), '')
    || format(',"shared":[[%s,%s,%s]]', to_json(p_key), to_json(p_hash), v_changes));
END $$;

-- Runs for a worker. p_gone: workers whose runs are free, with the end of the lease as it was read; one that was renewed since lives.
CREATE FUNCTION @claim(p_worker text, p_gone bigint[], p_untils bigint[], p_dead bigint[], p_run text, p_limit int, p_except text[],
  p_tenant text, p_now bigint, p_elapsed bigint)
RETURNS json LANGUAGE plpgsql ${PLANS} AS $$
DECLARE
  v_self bigint;
  v_free bigint[];
  v_ids bigint[];
  v_runs text[];
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('@claim'), 1);
  SELECT w.id INTO v_self FROM @workers w WHERE w.worker = p_worker AND NOT w.fenced AND p_elapsed < w.until AND w.until <= p_elapsed + w.term;
  IF NOT FOUND THEN RETURN '[]'; END IF;
  PERFORM 1 FROM @workers w WHERE w.id = ANY (p_gone) ORDER BY w.id FOR UPDATE;
  SELECT coalesce(array_agg(w.id), '{}') INTO v_free FROM @workers w JOIN unnest(p_gone, p_untils) AS g (id, until) ON g.id = w.id
    WHERE w.id <> v_self AND (w.fenced OR w.until = g.until);
  UPDATE @workers SET fenced = true WHERE id = ANY (p_dead) AND id = ANY (v_free) AND NOT fenced;
  -- An owner that is not a worker was written from outside.
  v_free := v_free || ARRAY(SELECT DISTINCT r.owner FROM @runs r WHERE r.owner IS NOT NULL AND r.status IN ('pending', 'running', 'suspended')
    AND NOT EXISTS (SELECT 1 FROM @workers w WHERE w.id = r.owner));
  IF p_run IS NOT NULL THEN
    SELECT array_agg(r.id) INTO v_ids FROM @runs r WHERE r.run = p_run;
  ELSE
    SELECT array_agg(c.id) INTO v_ids FROM (SELECT * FROM @claimable(v_free, p_except, p_tenant, p_now) ORDER BY 1 LIMIT p_limit) c (id);
  END IF;
  IF v_ids IS NULL THEN RETURN '[]'; END IF;
  -- A commit that is under way may change the state of a run: it has this lock until it is over.
  PERFORM 1 FROM @ends e WHERE e.run = ANY (v_ids) ORDER BY e.run FOR UPDATE;
  SELECT array_agg(r.id ORDER BY r.id), array_agg(r.run ORDER BY r.id) INTO v_ids, v_runs FROM @runs r
    WHERE r.id = ANY (v_ids) AND (r.owner IS NULL OR r.owner = ANY (v_free) OR (p_run IS NOT NULL AND r.owner = v_self))
      AND (p_run IS NOT NULL OR r.status IN ('pending', 'running') OR (r.status = 'suspended' AND r.due <= p_now)
        OR EXISTS (SELECT 1 FROM @mail m WHERE m.run = r.id));
  IF v_ids IS NULL THEN RETURN '[]'; END IF;
  UPDATE @workers SET fenced = true WHERE NOT fenced AND id <> v_self AND id IN (SELECT r.owner FROM @runs r WHERE r.id = ANY (v_ids));
  UPDATE @runs SET owner = v_self WHERE id = ANY (v_ids);
  RETURN to_json(v_runs);
END $$;

-- Runs that need work, the oldest first: those that work, waits that are over, and those with mail.
CREATE FUNCTION @claimable(p_free bigint[], p_except text[], p_tenant text, p_now bigint) RETURNS SETOF bigint LANGUAGE sql STABLE ${PLANS} AS $$
  SELECT c.id FROM (
    SELECT r.id, r.run, r.tenant FROM @runs r WHERE r.owner IS NULL AND r.status IN ('pending', 'running')
    UNION SELECT r.id, r.run, r.tenant FROM @runs r WHERE r.owner = ANY (p_free) AND r.status IN ('pending', 'running')
    UNION SELECT r.id, r.run, r.tenant FROM @runs r WHERE r.owner IS NULL AND r.status = 'suspended' AND r.due <= p_now
    UNION SELECT r.id, r.run, r.tenant FROM @runs r WHERE r.owner = ANY (p_free) AND r.status = 'suspended' AND r.due <= p_now
    UNION SELECT r.id, r.run, r.tenant FROM @mail m JOIN @runs r ON r.id = m.run WHERE r.owner IS NULL OR r.owner = ANY (p_free)
  ) c WHERE NOT (c.run = ANY (p_except)) AND (p_tenant IS NULL OR c.tenant = p_tenant) ORDER BY 1
$$;

-- All changes before this place are there to be read, and none will appear before it.
CREATE FUNCTION @horizon() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_next bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  v_open bigint;
BEGIN
  -- A number of a transaction here has 32 bits: the first ones are those of the next number.
  SELECT min(CASE WHEN t.low > v_next % 4294967296 + 2147483648 THEN v_next / 4294967296 - 1 ELSE v_next / 4294967296 END * 4294967296 + t.low)
    INTO v_open
    FROM (SELECT x.transactionid::text::bigint AS low FROM pg_locks l JOIN pg_locks x ON x.virtualtransaction = l.virtualtransaction
      AND x.locktype = 'transactionid' AND x.granted AND x.mode = 'ExclusiveLock'
      WHERE l.locktype = 'relation' AND l.relation = '@log'::regclass AND l.mode = 'RowExclusiveLock'
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) t;
  RETURN (SELECT base FROM @store) + least(v_next, coalesce(v_open, v_next)) * 4096;
END $$;
`;
