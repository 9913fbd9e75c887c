"""An archive on the Hugging Face hub: files are fetched one by one as they are read, and kept in the client's cache.

The first thing asked is which commit is meant; every file then comes from that one, so a change on the hub cannot mix
two states. Where the hub cannot be reached, what was fetched before is read. What the client raises differs by version
and is told apart by name.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from amemgym.errors import DataError, MissingPackage, ResultFileMissing
from amemgym.memorybench.entry import MANIFEST
from amemgym.memorybench.problems import Problems
from amemgym.memorybench.reading.paths import joined_path, path_fault
from amemgym.memorybench.reading.places import is_passed_over

#: where the results of the MemoryBench paper are
PUBLISHED = "THUIR/MemoryBench-Results"
#: files fetched at a time
_AT_ONCE = 8
_TIMEOUT = 10.0
_COMMIT = re.compile(r"[0-9a-f]{40}")
#: what is known of an error of the client → what to do; the first that fits
_ADVICE = {
    "GatedRepoError": "it is gated: ask for access on its page, then log in with: hf auth login",
    "RevisionNotFoundError": "it has no revision '{revision}'; give a branch, a tag or a commit that it has",
    "RepositoryNotFoundError": "there is no such {repo_type} repository, or it is private (then: hf auth login)",
    "HFValidationError": "that is no name of a repository; it should look like OWNER/NAME",
}


class Hub:
    """An archive in a repository of the hub. Raises DataError where its state cannot be learnt."""

    def __init__(
        self, repo_id: str, repo_type: str, revision: str | None, cache_dir: str | Path | None, problems: Problems
    ) -> None:
        try:
            import huggingface_hub
        except ImportError:
            raise MissingPackage(
                f"results in {repo_id} are fetched from Hugging Face, which needs an extra: pip install 'amemgym[hub]'"
            ) from None
        self._client: Any = huggingface_hub
        self.repo_id, self.repo_type, self.revision, self.cache_dir = repo_id, repo_type, revision, cache_dir
        self.name = f"hub:{repo_id}" + (f"@{revision}" if revision else "")
        self.has_manifest = True
        self._commit = self._find_commit(problems)
        self.identity = f"hub:{repo_type}/{repo_id}@{self._commit or revision}"

    def path(self, relative: str) -> Path:
        if fault := path_fault(relative):
            raise DataError(f"{self.name}: a path in it {fault}; it is not fetched")
        place = self._place(relative)
        try:
            with contextlib.suppress(FileNotFoundError):  # what was fetched once needs no network
                return self._cached(relative)
            # asks once: the download itself would try again for half a minute, aloud, where there is no network
            self._client.get_hf_file_metadata(self._client.hf_hub_url(**place), timeout=_TIMEOUT)
            return Path(self._client.hf_hub_download(**place, cache_dir=self.cache_dir))
        except Exception as error:  # the client raises many kinds
            if "EntryNotFoundError" in _kinds(error):
                raise ResultFileMissing(f"{self.name} has no file {relative}") from error
            raise self._trouble(error, relative) from error

    def may_have(self, relative: str) -> bool:
        return path_fault(relative) is None

    def fetch(self, relatives: Sequence[str]) -> None:
        def fetch_one(relative: str) -> None:
            with contextlib.suppress(ResultFileMissing):
                self.path(relative)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                list(pool.map(fetch_one, relatives))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def listed(self, problems: Problems) -> list[str]:
        try:
            names = self._client.HfApi().list_repo_files(
                self.repo_id, repo_type=self.repo_type, revision=self._commit or self.revision
            )
        except Exception as error:
            raise self._trouble(error, "the list of its files") from error
        return sorted(
            name for name in names if name.endswith(".json") and path_fault(name) is None and not is_passed_over(name)
        )

    def around(self) -> tuple[str, ...]:
        return ()

    def _find_commit(self, problems: Problems) -> str | None:
        """The commit that is read, as the manifest is had from it. Where the hub has none, that is noted."""
        place = self._place(MANIFEST)
        try:
            if _COMMIT.fullmatch(self.revision or ""):  # which never changes
                with contextlib.suppress(FileNotFoundError):
                    return self._cached(MANIFEST).parent.name
            self._client.get_hf_file_metadata(self._client.hf_hub_url(**place), timeout=_TIMEOUT)
            # under the branch's name, so that the cache knows its commit
            return Path(self._client.hf_hub_download(**place, cache_dir=self.cache_dir)).parent.name
        except Exception as error:
            kinds = _kinds(error)
            if "EntryNotFoundError" in kinds and "LocalEntryNotFoundError" not in kinds:
                self.has_manifest = False
                return self._head()
            if kinds & set(_ADVICE):
                raise self._trouble(error, MANIFEST) from error
            try:
                commit = self._cached(MANIFEST).parent.name
            except Exception:
                raise self._trouble(error, MANIFEST) from error
            problems.tell(
                self.name, f"the hub could not be asked ({type(error).__name__}); what was fetched before is read"
            )
            return commit

    def _head(self) -> str | None:
        try:
            info = self._client.HfApi().repo_info(
                self.repo_id, repo_type=self.repo_type, revision=self.revision, timeout=_TIMEOUT
            )
        except Exception as error:
            raise self._trouble(error, "the list of its files") from error
        return None if info.sha is None else str(info.sha)

    def _cached(self, relative: str) -> Path:
        found = self._client.hf_hub_download(**self._place(relative), cache_dir=self.cache_dir, local_files_only=True)
        return Path(found)

    def _place(self, relative: str) -> dict[str, Any]:
        revision = getattr(self, "_commit", None) or self.revision
        place = {"repo_id": self.repo_id, "filename": joined_path("", relative), "repo_type": self.repo_type}
        return {**place, "revision": revision}

    def _trouble(self, error: Exception, what: str) -> DataError:
        """One sentence for whatever the client raised, whose own words are many lines."""
        begun = f"{what} could not be fetched from {self.repo_id} on Hugging Face ({type(error).__name__})"
        for kind in type(error).__mro__:
            if advice := _ADVICE.get(kind.__name__):
                advice = advice.format(revision=self.revision or "main", repo_type=self.repo_type)
                return DataError(f"{begun}: {advice}")
        return DataError(f"{begun}; go online, or download the archive and give its folder")


def _kinds(error: Exception) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}
