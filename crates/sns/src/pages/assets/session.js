// @ts-check
// Who is logged in with this browser. All its tabs share one session, which lies in the browser's
// storage.

const PLACE = "nagaya.sns";
/** Where the token of this browser lies, which outlives sessions and serves all accounts. */
const DEVICE = "nagaya.sns.device";
/** How often it is looked again whether another tab has brought the next tokens, and when. */
const LOOKS = 20;
const LOOK_MS = 250;

/**
 * @typedef {{ userId: string, username: string, displayName: string }} User
 * @typedef {{ token: string, refreshToken: string, user: User, deviceToken?: string }} Session
 */

/** @returns {Session | undefined} */
export function current() {
  const kept = localStorage.getItem(PLACE);
  return kept ? JSON.parse(kept) : undefined;
}

/** @param {Session} session */
export function keep({ token, refreshToken, user, deviceToken }) {
  localStorage.setItem(PLACE, JSON.stringify({ token, refreshToken, user }));
  if (deviceToken) localStorage.setItem(DEVICE, deviceToken);
}

/** Shows the house that an account has logged in with this browser before. */
export function device() {
  return localStorage.getItem(DEVICE) ?? undefined;
}

/** @param {User} user */
export function keepUser(user) {
  const session = current();
  if (session) keep({ ...session, user });
}

export function forget() {
  localStorage.removeItem(PLACE);
}

/** @type {Promise<boolean> | undefined} */
let renewing;

/**
 * Brings the next tokens when `stale` is not good any more.
 * @param {string} stale
 * @returns {Promise<boolean>} false if the session is over
 */
export function renew(stale) {
  renewing ??= bring(stale).finally(() => (renewing = undefined));
  return renewing;
}

/**
 * A refresh token is good once, and a second use ends the session. Tabs that come at once send the
 * same key, so that one of them uses it and the others get the same answer.
 * @param {string} stale
 */
async function bring(stale) {
  for (let look = 0; look < LOOKS; look += 1) {
    const session = current();
    if (!session) return false;
    if (session.token !== stale) return true;
    const { refreshToken } = session;
    const headers = { "idempotency-key": refreshToken.slice(-24) };
    const body = JSON.stringify({ refreshToken });
    const answer = await fetch("/sns/v1/auth/refresh", { method: "POST", headers, body });
    if (answer.ok) {
      keep(await answer.json());
      return true;
    }
    if (answer.status === 401) {
      forget();
      return false;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new TypeError("nobody brings the next tokens");
}

/**
 * Tells when another tab has logged in or out.
 * @param {() => void} then
 */
export function onOther(then) {
  const who = current()?.user.userId;
  addEventListener("storage", ({ key }) => {
    if ((key === PLACE || key === null) && current()?.user.userId !== who) then();
  });
}
