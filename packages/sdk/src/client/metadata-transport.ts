/** Lists and watches that return metadata only, of any type. */
import type { Transport } from "./transport.ts";

const partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const partialList =
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

export function metadataTransport(transport: Transport): Transport {
  return {
    send(request) {
      const accept = /[?&]watch=/.test(request.path) ? partial : partialList;
      return transport.send({ ...request, headers: { ...request.headers, accept } });
    },
    close: () => transport.close(),
  };
}
