/**
 * Where a request to a mount is sent: below the mount's own address, and nowhere else on that host.
 *
 * URLs are rewritten by whoever reads them: dots go up, backslashes are slashes. What would not stay as it is could lead to another path than the one
 * that was judged, with the identity that this server vouches for; it is refused instead of being understood.
 */
import { statusError } from "@kcp-ts/machinery/status";

export interface MountTarget {
  readonly url: URL;
  /** As it is sent: path and query. */
  readonly path: string;
}

/** `rest` begins with a slash, and is what comes behind the cluster on the request line. */
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

/** However often whoever is behind the mount decodes it. */
function hasDots(path: string): boolean {
  return path
    .split("/")
    .some((segment) => /^(\.|%(25)*2e){1,2}$/i.test(segment) || /%(25)*(2f|5c)/i.test(segment));
}
