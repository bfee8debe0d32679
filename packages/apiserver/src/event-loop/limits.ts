/**
 * The limits of one turn of the event loop (reads, writes, acknowledgements, computation), of the
 * queues for later turns, and of the small-request bypass: every figure, in one table.
 *
 * Microseconds are estimates for this server on an ordinary machine. They only need to be in
 * proportion to each other.
 */
export const eventLoopLimits = {
  /** The requests that start, and the chunks of streams that are written. */
  compute: {
    microsPerTurn: 2000,
    /**
     * The limit while more than one tenant is at work, so that requests of the other tenants are
     * read soon.
     */
    contendedMicrosPerTurn: 800,
    /**
     * The number of turns for which contention is assumed to last: about as many milliseconds under
     * load.
     */
    contendedTurns: 200,
  },
  /**
   * The input that is read from connections; a unit is one request, or `bytesPerUnit` of a body.
   */
  inbound: {
    unitsPerTurnMax: 64,
    unitsPerConnectionMax: 32,
    /**
     * The units that a connection may always send in a turn, regardless of the other connections.
     */
    unitsFree: 4,
    bytesPerUnit: 8 << 10,
    /**
     * The requests in flight of one connection. Long-running responses, such as watches, do not
     * count.
     */
    atWorkMax: 64,
    /**
     * The requests in flight of all connections together, except `unitsFree` of each connection.
     */
    atWorkOfAllMax: 128,
    /** The requests of all connections that wait for their bodies before they start. */
    arrivingMax: 2048,
    /** The longest wait for a body; after that, the request starts without it. */
    arrivalMaxMs: 1000,
    /** Requests with longer bodies start at once: their readers account for the bytes. */
    awaitedBodyBytesMax: 16 << 10,
    /** The number of frames without a request or a body that count as one request. */
    controlFramesPerUnit: 64,
    /** The streams of a closed connection that are closed in a turn: some ten microseconds each. */
    closedPerTurnMax: 32,
  },
  /**
   * The output that is written to connections. About a millisecond of work for one connection, and
   * two for all: framing, encryption, and delivery to a peer on the same machine, which costs most.
   */
  outbound: {
    bytesPerConnectionMax: 128 << 10,
    bytesPerTurnMax: 256 << 10,
    /**
     * The bytes that a connection may always send in a turn, so that small responses never wait.
     */
    bytesFree: 4 << 10,
  },
  /** Responses that are ready, and that clients have not read. */
  unreadResponses: {
    /** A connection with so many unread bytes starts no further request. */
    bytesPerConnectionMax: 8 << 20,
    /**
     * When all connections together have so many unread bytes, only connections without unread
     * bytes start requests, and connections whose clients read nothing are closed sooner.
     */
    bytesMax: 128 << 20,
  },
  /**
   * Reads of one object that start even if the budget of the turn is spent or other requests wait.
   */
  smallRequestBypass: {
    /** The highest cost that may bypass; lists, watches and writes cost more. */
    microsMax: 60,
    microsPerTenant: 200,
    microsPerTurn: 1000,
  },
  /**
   * Requests that run one after the other: bodies of a quarter of a megabyte, lists of thousands.
   */
  largeRequests: {
    micros: 5000,
    /**
     * With other tenants at work, the queue pauses after a large request for `restFactor` times its
     * duration.
     */
    restFactor: 2,
    restMaxMs: 400,
    waitingPerFlowMax: 100,
    waitingMax: 1000,
  },
  /** Watches that are opened while other tenants are at work. */
  watchOpens: {
    perSecond: 400,
    /** The watches that may be opened at once after an idle time. */
    burstMax: 400,
    /** The interval at which waiting watches are opened. */
    intervalMs: 10,
    waitingPerFlowMax: 1000,
    waitingMax: 4000,
  },
  /** Events that are delivered to watches. */
  fanOut: {
    /** The watches of one prefix that receive an event in the turn in which it happens. */
    directMax: 16,
    /** The limit of all prefixes together. */
    microsPerTurn: 500,
    /** The events that a watch may be behind. */
    backlogEventsMax: 4096,
    backlogBytesMax: 16 << 20,
    /**
     * The limit of all prefixes together: of the prefix with the largest backlog, the watches that
     * are furthest behind are ended.
     */
    allBacklogsBytesMax: 64 << 20,
    /**
     * The events that a watch may be behind before they are copied into its own buffer, which has
     * limits of its own.
     */
    heldEventsMax: 1024,
    /** The interval at which a group of slow watches is checked again. */
    heldMs: 10,
  },
  /** The writes of one batch of the store that are acknowledged in a turn. */
  acknowledgedPerTurnMax: 64,
  /** The stored objects that a selector matches in a turn. */
  matched: { objectsPerTurn: 1000, bytesPerTurn: 256 << 10 },
  /** Responses that are encoded while they are sent, such as Tables and YAML. */
  madeAnswers: { msPerTurn: 1, chunkChars: 16 << 10 },
} as const;

/** The estimated costs of operations, in microseconds. */
export const eventLoopCosts = {
  /** Writing a chunk of a stream, and encoding the next chunk. */
  chunk: 15,
  byte: 1 / 250,
  /** A byte of a response that is encoded while it is sent. */
  madeByte: 1 / 20,
  /** A response that rejects its request. */
  refusal: 100,
  fanOut: {
    /** The direct delivery of an event to one of few watches. */
    direct: 4,
    visit: 1,
    /** Reading an event, including a possible selector match. */
    event: 0.5,
    send: 14,
    byte: 1 / 250,
    /** Ending a watch and its response. */
    ending: 60,
  },
} as const;

type Figures<Table> = { readonly [Name in keyof Table]: number };

export type InboundLimits = Figures<typeof eventLoopLimits.inbound>;
export type UnreadResponseLimits = Figures<typeof eventLoopLimits.unreadResponses>;
