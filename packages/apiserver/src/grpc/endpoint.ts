/** Where a gRPC server is. */
export interface Endpoint {
  readonly url: URL;
  /** The name in messages. */
  readonly name: string;
  readonly secure: boolean;
  /** Of a Unix socket, instead of host and port. */
  readonly socketPath?: string;
}

/**
 * An etcd endpoint in the user's notation: `https://host:2379`, `http://host:2379`, or `host:2379`
 * for plaintext.
 */
export function parseEndpoint(text: string): Endpoint {
  let url: URL;
  try {
    url = new URL(text.includes("://") ? text : `http://${text}`);
  } catch {
    throw new TypeError(`etcd endpoint ${JSON.stringify(text)} is not a URL`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`etcd endpoint ${text}: only http:// and https:// can be used`);
  }
  if (url.pathname !== "/" && url.pathname !== "") {
    throw new TypeError(`etcd endpoint ${text} must not have a path`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("an etcd endpoint must not contain a password: use username and password");
  }
  return { url, name: `${url.protocol}//${url.host}`, secure: url.protocol === "https:" };
}

/**
 * A Unix socket in the notation of KMS plug-ins: `unix:///run/kms.sock`, or `unix:///@abstract`.
 */
export function parseUnixEndpoint(text: string): Endpoint {
  const path = /^unix:\/\/(\/.+)$/.exec(text)?.[1];
  if (path === undefined)
    throw new TypeError(`endpoint ${JSON.stringify(text)} is not of the form unix:///path`);
  const socketPath = path.startsWith("/@") ? `\0${path.slice(2)}` : path;
  return { url: new URL("http://localhost"), name: text, secure: false, socketPath };
}
