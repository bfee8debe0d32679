/** What somebody wrote about where replicas go, or how, cannot be read. The message names where it is written. */
export class PlacementError extends Error {
  override readonly name = "PlacementError";
}
