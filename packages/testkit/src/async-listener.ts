/**
 * A listener of an HTTP server whose answer takes a while.
 *
 * Node drops the promise of an async listener. Here a failure destroys the response, so that the
 * client of the server sees it.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

export function asyncListener(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>,
): RequestListener {
  return (request, response) => {
    answer(request, response).catch((error) => response.destroy(error));
  };
}
