// Linux's own driver for drives that lock (block/sed-opal.c), from user space: one order a call, as `sed-opal DEVICE ORDER …`.
// Exit codes: 0, 1 if the kernel or the drive refuses, 2 if the call makes no sense.
#include <errno.h>
#include <fcntl.h>
#include <linux/sed-opal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct opal_key key_of(const char *pin, unsigned range) {
  struct opal_key key = {.lr = range, .key_len = strlen(pin)};
  memcpy(key.key, pin, key.key_len);
  return key;
}

static struct opal_session_info session_of(unsigned who, const char *pin, unsigned range) {
  return (struct opal_session_info){.who = who, .opal_key = key_of(pin, range)};
}

static unsigned number(const char *text) { return strtoul(text, 0, 0); }

int main(int count, char **words) {
  if (count < 3) return 2;
  int drive = open(words[1], O_RDWR);
  if (drive < 0) return perror(words[1]), 1;
  const char *order = words[2];
  char **w = words + 3;
  int given = count - 3, result = -2;
#define ORDER(name, n) else if (!strcmp(order, name) && given == n)
  if (0) {
  }
  ORDER("status", 0) {
    struct opal_status status = {0};
    result = ioctl(drive, IOC_OPAL_GET_STATUS, &status);
    if (!result)
      printf("supported %d enabled %d locked %d shadow %d done %d\n", !!(status.flags & OPAL_FL_SUPPORTED),
             !!(status.flags & OPAL_FL_LOCKING_ENABLED), !!(status.flags & OPAL_FL_LOCKED),
             !!(status.flags & OPAL_FL_MBR_ENABLED), !!(status.flags & OPAL_FL_MBR_DONE));
  }
  ORDER("take-ownership", 1) {  // PIN
    struct opal_key key = key_of(w[0], 0);
    result = ioctl(drive, IOC_OPAL_TAKE_OWNERSHIP, &key);
  }
  ORDER("activate", 1) {  // PIN of the SID
    struct opal_lr_act act = {.key = key_of(w[0], 0), .num_lrs = 1};
    result = ioctl(drive, IOC_OPAL_ACTIVATE_LSP, &act);
  }
  ORDER("enable-user", 2) {  // PIN of Admin1, user
    struct opal_session_info user = session_of(number(w[1]), w[0], 0);
    result = ioctl(drive, IOC_OPAL_ACTIVATE_USR, &user);
  }
  ORDER("set-pin", 4) {  // who, PIN, whose, new PIN
    struct opal_new_pw pin = {session_of(number(w[0]), w[1], 0), session_of(number(w[2]), w[3], 0)};
    result = ioctl(drive, IOC_OPAL_SET_PW, &pin);
  }
  ORDER("give-range", 4) {  // PIN of Admin1, user, range, right
    struct opal_lock_unlock give = {session_of(number(w[1]), w[0], number(w[2])), number(w[3])};
    result = ioctl(drive, IOC_OPAL_ADD_USR_TO_LR, &give);
  }
  ORDER("set-range", 4) {  // PIN of Admin1, range, first sector, sectors
    struct opal_user_lr_setup range = {.range_start = strtoull(w[2], 0, 0), .range_length = strtoull(w[3], 0, 0), .RLE = 1, .WLE = 1};
    range.session = session_of(OPAL_ADMIN1, w[0], number(w[1]));
    result = ioctl(drive, IOC_OPAL_LR_SETUP, &range);
  }
  ORDER("lock", 4) {  // who, PIN, range, state: 1 read only, 2 open, 4 locked
    struct opal_lock_unlock lock = {session_of(number(w[0]), w[1], number(w[2])), number(w[3])};
    result = ioctl(drive, IOC_OPAL_LOCK_UNLOCK, &lock);
  }
  ORDER("erase-range", 3) {  // who, PIN, range
    struct opal_session_info range = session_of(number(w[0]), w[1], number(w[2]));
    result = ioctl(drive, IOC_OPAL_SECURE_ERASE_LR, &range);
  }
  ORDER("write-shadow", 3) {  // PIN of Admin1, file, offset
    static unsigned char bytes[1 << 20];
    int file = open(w[1], O_RDONLY);
    ssize_t length = file < 0 ? -1 : read(file, bytes, sizeof bytes);
    if (length < 0) return perror(w[1]), 2;
    struct opal_shadow_mbr shadow = {key_of(w[0], 0), (uintptr_t)bytes, strtoull(w[2], 0, 0), length};
    result = ioctl(drive, IOC_OPAL_WRITE_SHADOW_MBR, &shadow);
  }
  ORDER("shadow", 2) {  // PIN of Admin1, on or off
    struct opal_mbr_data mbr = {key_of(w[0], 0), strcmp(w[1], "on") ? OPAL_MBR_DISABLE : OPAL_MBR_ENABLE};
    result = ioctl(drive, IOC_OPAL_ENABLE_DISABLE_MBR, &mbr);
  }
  ORDER("shadow-done", 2) {  // PIN of Admin1, 1 or 0
    struct opal_mbr_done done = {key_of(w[0], 0), number(w[1])};
    result = ioctl(drive, IOC_OPAL_MBR_DONE, &done);
  }
  ORDER("revert", 1) {  // PIN of the SID
    struct opal_key key = key_of(w[0], 0);
    result = ioctl(drive, IOC_OPAL_REVERT_TPR, &key);
  }
  ORDER("revert-by-label", 1) {  // PSID
    struct opal_key key = key_of(w[0], 0);
    result = ioctl(drive, IOC_OPAL_PSID_REVERT_TPR, &key);
  }
  if (result == -2) return fprintf(stderr, "no such order: %s with %d words\n", order, given), 2;
  // Above 0: the status of the drive's method.
  if (result < 0) perror(order);
  if (result > 0) fprintf(stderr, "%s: the drive says %d\n", order, result);
  return result != 0;
}
