/**
 * The few administrative calls that tests need, through etcd's JSON gateway: no gRPC in this
 * package.
 */

export interface MemberStatus {
  readonly memberId: string;
  readonly leader: string;
}

/** A member's own view, or undefined while it does not answer. */
export async function memberStatus(endpoint: string): Promise<MemberStatus | undefined> {
  let answer: unknown;
  try {
    answer = await post(endpoint, "/v3/maintenance/status", {}, undefined, 1000);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    return undefined;
  }
  const { header, leader } = answer as { header: { member_id: string }; leader?: string };
  return { memberId: header.member_id, leader: leader ?? "0" };
}

/** Forgets all history of a cluster without authentication. */
export async function compactEtcd(endpoint: string): Promise<void> {
  const answer = await post(endpoint, "/v3/kv/range", { key: Buffer.from("a").toString("base64") });
  const { header } = answer as { header: { revision: string } };
  await post(endpoint, "/v3/kv/compaction", { revision: header.revision });
}

/**
 * What etcd does when its quota is used up, without using it up: writes are refused until the alarm
 * is taken back.
 */
export async function setNoSpaceAlarm(endpoint: string, isOn: boolean): Promise<void> {
  const status = await memberStatus(endpoint);
  const action = isOn ? "ACTIVATE" : "DEACTIVATE";
  const memberID = status?.memberId ?? "0";
  await post(endpoint, "/v3/maintenance/alarm", { action, alarm: "NOSPACE", memberID });
}

/** Creates the root user and turns authentication on. */
export async function enableAuth(endpoint: string, rootPassword: string): Promise<void> {
  await post(endpoint, "/v3/auth/user/add", { name: "root", password: rootPassword });
  await post(endpoint, "/v3/auth/role/add", { name: "root" });
  await post(endpoint, "/v3/auth/user/grant", { user: "root", role: "root" });
  await post(endpoint, "/v3/auth/enable", {});
}

export interface EtcdUser {
  readonly name: string;
  readonly password: string;
  /** The user may read and write the keys that start with this. */
  readonly keyPrefix: string;
}

/** Adds a user that may use one prefix, on a cluster with authentication. */
export async function addUser(
  endpoint: string,
  rootPassword: string,
  user: EtcdUser,
): Promise<void> {
  const login = await post(endpoint, "/v3/auth/authenticate", {
    name: "root",
    password: rootPassword,
  });
  const { token } = login as { token: string };
  const key = Buffer.from(user.keyPrefix);
  const rangeEnd = Buffer.from(key);
  rangeEnd[rangeEnd.length - 1] = (rangeEnd.at(-1) as number) + 1;
  const permission = {
    permType: "READWRITE",
    key: key.toString("base64"),
    range_end: rangeEnd.toString("base64"),
  };
  await post(endpoint, "/v3/auth/role/add", { name: user.name }, token);
  await post(endpoint, "/v3/auth/role/grant", { name: user.name, perm: permission }, token);
  await post(endpoint, "/v3/auth/user/add", { name: user.name, password: user.password }, token);
  await post(endpoint, "/v3/auth/user/grant", { user: user.name, role: user.name }, token);
}

class GatewayError extends Error {
  override readonly name = "GatewayError";
}

async function post(
  endpoint: string,
  path: string,
  body: unknown,
  token?: string,
  timeoutMs = 10_000,
): Promise<unknown> {
  const response = await fetch(`${endpoint}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: token === undefined ? {} : { authorization: token },
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await response.text();
  if (!response.ok) throw new GatewayError(`${path} answers ${response.status}: ${text}`);
  return JSON.parse(text);
}
