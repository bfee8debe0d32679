/**
 * The target of a request to a mount: below the mount's own URL, and nowhere else on that host.
 *
 * URL parsers normalize paths: dots go up, backslashes are slashes. A path that normalization would
 * change could lead to another path than the authorized one, with the identity that this server
 * vouches for; such a path is rejected instead of being interpreted.
 */
import { statusError } from "@kcp-ts/machinery/status";

export interface MountTarget {
  readonly url: URL;
  /** The path and query to send. */
  readonly path: string;
}

/** `rest` begins with a slash, and is the part of the request line after the cluster. */
export function mountTarget(mountUrl: string, rest: string): MountTarget {
  const mount = new URL(mountUrl);
  const prefix = mount.pathname === "/" ? "" : mount.pathname;
  const path = prefix + rest;
  const mark = path.indexOf("?");
  const plain = mark < 0 ? path : path.slice(0, mark);
  const isKept =
    rest.startsWith("/") &&
    !path.includes("#") &&
    URL.canParse(mount.origin + path) &&
    new URL(mount.origin + path).pathname === plain &&
    !hasDots(plain);
  if (!isKept) throw statusError.badRequest("the path of the request cannot be sent to a mount");
  return { url: mount, path };
}

/**
 * Detects dots under any number of percent-encodings, because the server behind the mount may
 * decode repeatedly.
 */
function hasDots(path: string): boolean {
  return path
    .split("/")
    .some((segment) => /^(\.|%(25)*2e){1,2}$/i.test(segment) || /%(25)*(2f|5c)/i.test(segment));
}
