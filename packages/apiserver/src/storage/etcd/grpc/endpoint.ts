/**
 * An etcd endpoint in the user's notation: `https://host:2379`, `http://host:2379`, or `host:2379`
 * for plaintext.
 */
export interface Endpoint {
  readonly url: URL;
  /** The name in messages. */
  readonly name: string;
  readonly secure: boolean;
}

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
