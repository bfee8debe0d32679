/**
 * The operator's allowlist of hosts for mounts. Requests to a mount carry user identities under
 * this server's certificate: a tenant with a free choice of the host could collect and replay
 * identities that the certificate vouches for.
 *
 *     mounts.example.com          port 443
 *     mounts.example.com:6443     that port
 *     *.edge.example.com          any name below it
 */

/** Throws for an entry that is not a host. */
export function parseMountHosts(entries: readonly string[]): MountHosts {
  const hosts = entries.map((entry) => {
    const isBelow = entry.startsWith("*.");
    const text = isBelow ? entry.slice(2) : entry;
    const url = URL.canParse(`https://${text}`) ? new URL(`https://${text}`) : undefined;
    const isHost =
      url !== undefined && text !== "" && /^[^/?#@*]+$/.test(text) && url.pathname === "/";
    if (!isHost)
      throw new Error(`${JSON.stringify(entry)} is no host, as in mounts.example.com:6443`);
    return { name: url.hostname, port: url.port, isBelow };
  });
  return {
    allows: ({ hostname, port }) =>
      hosts.some(
        (one) =>
          one.port === port &&
          (one.isBelow ? hostname.endsWith(`.${one.name}`) : hostname === one.name),
      ),
  };
}

export interface MountHosts {
  allows(url: Pick<URL, "hostname" | "port">): boolean;
}
