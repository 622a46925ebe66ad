/** The bridge behind the page: its key, one request function, and what can go wrong. */

const SLOT = "transom.key";

/** The bridge does not answer at all. */
export class Away extends Error {
  retryAfter = 2;
}

/** The bridge does not know the key. */
export class WrongKey extends Error {}

/** The bridge answers with an error; `message` is its sentence, `retryAfter` in seconds or 0. */
export class Refused extends Error {
  constructor(message, retryAfter) {
    super(message);
    this.retryAfter = retryAfter;
  }
}

export const key = {
  get: () => localStorage.getItem(SLOT),
  keep: (text) => localStorage.setItem(SLOT, text),
  forget: () => localStorage.removeItem(SLOT),
};

/** Ask the bridge: GET, or POST when there is a `body`. Gives the decoded answer. */
export async function ask(path, { body, signal, token = key.get() } = {}) {
  // Anything else cannot stand in a header, so it cannot be a key.
  if (!/^[\x21-\x7e]+$/.test(token ?? "")) throw new WrongKey();
  let response;
  let answer;
  try {
    response = await fetch(path, {
      method: body ? "POST" : "GET",
      headers: { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }) },
      body: body && JSON.stringify(body),
      cache: "no-store",
      signal,
    });
    answer = await response.json();
  } catch (error) {
    // A proxy's page in place of JSON is no answer of the bridge either.
    throw signal?.aborted ? error : new Away();
  }
  if (response.ok) return answer;
  if (response.status === 401) throw new WrongKey();
  throw new Refused(
    answer?.error?.message ?? `The bridge answered with status ${response.status}.`,
    Number(response.headers.get("Retry-After")) || 0,
  );
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const inView = () =>
  document.hidden
    ? new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }))
    : Promise.resolve();

/**
 * Follow the bridge until `signal` aborts: `seen(status, moved)` now and then, `moved` at first and when
 * notes have changed; `failed(error)` when it could not be asked. Silent while the page is hidden.
 */
export async function follow({ seen, failed, signal }) {
  let since;
  let wait = 0;
  let pause = 0;
  while (!signal.aborted) {
    await inView();
    try {
      const feed = await ask(`/v1/changes${since === undefined ? "" : `?since=${since}&wait_s=${wait}`}`, { signal });
      const status = await ask("/v1/status", { signal });
      const moved = feed.changes.some(({ type }) => type === "indexed" || type === "removed");
      seen(status, since === undefined || moved);
      since = feed.seq;
      wait = status.settled ? 25 : 2;
      pause = 500;
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      since = undefined;
      pause = Math.min(Math.max(1000, pause * 1.5), 8000);
    }
    await sleep(pause);
  }
}
