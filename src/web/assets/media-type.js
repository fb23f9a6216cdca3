// Media types of files that can be uploaded.

// By the ends of names, for systems that know no types. A form without script is read by the same table in uploads/receive.rs.
const TYPES = {
  pdf: "application/pdf", mp3: "audio/mpeg", m4a: "audio/mp4", m4b: "audio/mp4", aac: "audio/aac", wav: "audio/wav", flac: "audio/flac",
  ogg: "audio/ogg", oga: "audio/ogg", opus: "audio/ogg", mp4: "video/mp4", m4v: "video/mp4", mov: "video/quicktime", webm: "video/webm", mkv: "video/x-matroska",
};

/** Returns the media type of a file; empty if it is neither a PDF nor audio nor video. */
export const mediaType = (name, type) => {
  const isKnown = type && type !== "application/octet-stream";
  const stated = isKnown ? type : TYPES[name.split(".").pop().toLowerCase()] ?? "";
  return /^(audio|video)\/|^application\/(pdf|x-pdf|ogg|mp4)$/.test(stated) ? stated : "";
};
