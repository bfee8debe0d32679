/**
 * A client whose lists and watches return metadata only, for any type: the garbage collector reads
 * nothing else.
 *
 * The second client also requests that the server sends only objects that have owners or wait for
 * dependents, and deletions. A server that does not know the parameter sends all objects, which is
 * slower and equally correct.
 */
import { Client, type Transport } from "@kcp-ts/sdk";

export function metadataClient(client: Client): Client {
  return throughTransport(client, (transport) => metadataTransport(transport, ""));
}

export function ownershipClient(client: Client): Client {
  return throughTransport(client, (transport) =>
    metadataTransport(transport, "kcpSelection=ownership"),
  );
}

function throughTransport(client: Client, through: (transport: Transport) => Transport): Client {
  const { transport, basePath, clock, random } = client;
  const userAgent = "kcp-garbage-collector";
  return new Client({ transport: through(transport), basePath, clock, random, userAgent });
}

const partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const partialList =
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

function metadataTransport(transport: Transport, query: string): Transport {
  return {
    send(request) {
      const isWatch = /[?&]watch=/.test(request.path);
      const accept = isWatch ? partial : partialList;
      const separator = query === "" ? "" : request.path.includes("?") ? "&" : "?";
      const path = request.path + separator + query;
      return transport.send({ ...request, path, headers: { ...request.headers, accept } });
    },
    close: () => transport.close(),
  };
}
