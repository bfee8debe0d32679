/** A member's description of itself when a connection to it is opened. */
export interface Member {
  readonly clusterId: bigint;
  readonly version: string;
}

/**
 * Whether a member's responses to progress requests are correct. Before 3.4.25 and 3.5.8 the
 * response overtakes events in flight (etcd issue 15220): it would promise a revision that the
 * watch has not seen.
 */
export function supportsProgressRequests(version: string): boolean {
  const match = /^(\d+)\.(\d+)\.(\d+)/.exec(version);
  if (match === null) return false;
  const [major, minor, patch] = match.slice(1).map(Number) as [number, number, number];
  if (major !== 3) return major > 3;
  if (minor === 4) return patch >= 25;
  if (minor === 5) return patch >= 8;
  return minor > 5;
}
