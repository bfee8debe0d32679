/**
 * A connection through a SOCKS5 proxy (RFC 1928), with the user and password of its URL if it has
 * them (RFC 1929). Names are resolved by the proxy.
 */
import { isIPv4, isIPv6, type Socket } from "node:net";

export interface SocksTarget {
  readonly host: string;
  readonly port: number;
}

const version = 5;
const noAuthentication = 0;
const userAndPassword = 2;
const connectCommand = 1;
const addressV4 = 1;
const addressName = 3;
const addressV6 = 4;

const refusals: readonly string[] = [
  "",
  "general failure",
  "not allowed by its rules",
  "network unreachable",
  "host unreachable",
  "connection refused",
  "time to live expired",
  "command not supported",
  "address type not supported",
];

/** `socket` is connected to the proxy; when this resolves, it is connected to the target. */
export async function socksTunnel(socket: Socket, proxy: URL, target: SocksTarget): Promise<void> {
  const user = Buffer.from(decodeURIComponent(proxy.username));
  const password = Buffer.from(decodeURIComponent(proxy.password));
  if (user.length > 255 || password.length > 255) {
    throw new Error(`proxy ${proxy.host}: a user or password has at most 255 bytes`);
  }
  const methods = user.length > 0 ? [noAuthentication, userAndPassword] : [noAuthentication];
  socket.write(Buffer.from([version, methods.length, ...methods]));
  const [spoken, method] = await read(socket, 2);
  if (spoken !== version) throw new Error(`proxy ${proxy.host} does not speak SOCKS5`);
  if (method === userAndPassword && user.length > 0) {
    socket.write(Buffer.from([1, user.length, ...user, password.length, ...password]));
    const [, status] = await read(socket, 2);
    if (status !== 0) throw new Error(`proxy ${proxy.host} refused the user and password`);
  } else if (method !== noAuthentication) {
    throw new Error(`proxy ${proxy.host} wants another authentication`);
  }
  const port = [target.port >> 8, target.port & 0xff];
  socket.write(Buffer.from([version, connectCommand, 0, ...addressOf(target.host), ...port]));
  const [, reply = 1, , type] = await read(socket, 4);
  if (reply !== 0) {
    throw new Error(`proxy ${proxy.host}: ${refusals[reply] ?? `refused with ${reply}`}`);
  }
  // The bound address is unused, but precedes the target's bytes.
  const length = type === addressV4 ? 4 : type === addressV6 ? 16 : (await read(socket, 1))[0];
  await read(socket, (length ?? 0) + 2);
}

function addressOf(host: string): readonly number[] {
  if (isIPv4(host)) return [addressV4, ...host.split(".").map(Number)];
  if (isIPv6(host)) return [addressV6, ...bytesOfIPv6(host)];
  const name = Buffer.from(host);
  if (name.length > 255) throw new Error(`${host} is too long for a proxy`);
  return [addressName, name.length, ...name];
}

/** WHATWG writes the address in its shortest form: at most one `::`, and no dots. */
function bytesOfIPv6(host: string): readonly number[] {
  const [head = "", tail] = new URL(`http://[${host}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [first, last] = [groups(head), groups(tail ?? "")];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return [...first, ...zeros, ...last].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** Reads exactly this number of bytes; later bytes stay in the socket. */
function read(socket: Socket, length: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const tryToRead = () => {
      const bytes = socket.read(length) as Uint8Array | null;
      if (bytes === null) return;
      if (bytes.length < length) onEnd();
      else {
        leave();
        resolve(bytes);
      }
    };
    const onEnd = () => onError(new Error("the proxy closed the connection"));
    const onError = (error: Error) => {
      leave();
      reject(error);
    };
    const leave = () => {
      socket.off("readable", tryToRead);
      socket.off("error", onError);
      socket.off("close", onEnd);
      socket.off("end", onEnd);
    };
    socket.on("readable", tryToRead);
    socket.on("error", onError);
    socket.on("close", onEnd);
    socket.on("end", onEnd);
    tryToRead();
  });
}
