; The installer for Windows: `makensis -DVERSION=0.1.0 packaging/windows/tokstudio.nsi`, after `dev.py bundle`.
; SPDX-License-Identifier: MIT
Unicode true
SetCompressor /SOLID lzma
!include "MUI2.nsh"
!include "LogicLib.nsh"
!include "x64.nsh"

!ifndef VERSION
  !error "Say the version: makensis -DVERSION=0.1.0 ..."
!endif
; Windows wants four numbers: of 0.2.0rc1 they are 0.2.0.0. What a suffix may begin with follows Python's versions.
!searchparse "${VERSION}" "" MAJOR "." MINOR "." PATCH
; Each takes what stands before a mark, or all of it where there is none.
!searchparse /noerrors "${PATCH}" "" BEFORE_PLUS "+"
!searchparse /noerrors "${BEFORE_PLUS}" "" BEFORE_A "a"
!searchparse /noerrors "${BEFORE_A}" "" BEFORE_B "b"
!searchparse /noerrors "${BEFORE_B}" "" BEFORE_RC "rc"
!searchparse /noerrors "${BEFORE_RC}" "" NUMBER "."
; Paths are those from this folder.
!define ROOT "../.."
!define KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\TokStudio"
!define CLASSES "Software\Classes"

Name "TokStudio ${VERSION}"
OutFile "${ROOT}/dist/TokStudio-${VERSION}-setup.exe"
; For this person alone: nobody is asked for an administrator's password.
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\TokStudio"
InstallDirRegKey HKCU "${KEY}" "InstallLocation"
VIProductVersion "${MAJOR}.${MINOR}.${NUMBER}.0"
VIAddVersionKey "ProductName" "TokStudio"
VIAddVersionKey "FileDescription" "TokStudio's installer"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "LegalCopyright" "The TokStudio developers, MIT licence"

!define MUI_ICON "${ROOT}/build/icons/tokstudio.ico"
!define MUI_UNICON "${ROOT}/build/icons/tokstudio.ico"
!insertmacro MUI_PAGE_LICENSE "${ROOT}/LICENSE"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$INSTDIR\tokstudio-window.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

Function .onInit
  ${IfNot} ${RunningX64}
    MessageBox MB_OK "TokStudio needs a 64-bit Windows."
    Abort
  ${EndIf}
FunctionEnd

; Windows lets nobody write to a program that runs: said before anything is changed, not half-way.
!macro RequireEnd PROGRAM
  ${DoWhile} ${FileExists} "$INSTDIR\${PROGRAM}"
    ClearErrors
    FileOpen $0 "$INSTDIR\${PROGRAM}" a
    ${IfNot} ${Errors}
      FileClose $0
      ${ExitDo}
    ${EndIf}
    ${If} ${Cmd} `MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "TokStudio is running. Close its windows, then choose Retry." /SD IDCANCEL IDCANCEL`
      SetErrorLevel 1
      Abort "TokStudio is running. Nothing was changed."
    ${EndIf}
  ${Loop}
!macroend

Section
  !insertmacro RequireEnd "tokstudio-window.exe"
  !insertmacro RequireEnd "tokstudio.exe"
  ; What an earlier version has left would be loaded together with this one.
  RMDir /r "$INSTDIR\_internal"
  SetOutPath "$INSTDIR"
  File /r "${ROOT}/dist/tokstudio/*"
  File "${ROOT}/build/icons/tokstudio.ico"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortCut "$SMPROGRAMS\TokStudio.lnk" "$INSTDIR\tokstudio-window.exe" "" "$INSTDIR\tokstudio.ico"

  WriteRegStr HKCU "${CLASSES}\.tokstudio" "" "TokStudio.Project"
  WriteRegStr HKCU "${CLASSES}\TokStudio.Project" "" "TokStudio project"
  WriteRegStr HKCU "${CLASSES}\TokStudio.Project\DefaultIcon" "" "$INSTDIR\tokstudio.ico"
  WriteRegStr HKCU "${CLASSES}\TokStudio.Project\shell\open\command" "" '"$INSTDIR\tokstudio-window.exe" "%1"'
  ; Offered for these, and made the one that opens them by nobody but the person.
  WriteRegStr HKCU "${CLASSES}\Applications\tokstudio-window.exe" "FriendlyAppName" "TokStudio"
  WriteRegStr HKCU "${CLASSES}\Applications\tokstudio-window.exe\shell\open\command" "" '"$INSTDIR\tokstudio-window.exe" "%1"'
  WriteRegStr HKCU "${CLASSES}\Applications\tokstudio-window.exe\SupportedTypes" ".tiktoken" ""
  WriteRegStr HKCU "${CLASSES}\Applications\tokstudio-window.exe\SupportedTypes" ".txt" ""
  WriteRegStr HKCU "${CLASSES}\.tiktoken\OpenWithProgids" "TokStudio.Ranks" ""
  WriteRegStr HKCU "${CLASSES}\TokStudio.Ranks" "" "tiktoken ranks"
  WriteRegStr HKCU "${CLASSES}\TokStudio.Ranks\DefaultIcon" "" "$INSTDIR\tokstudio.ico"
  WriteRegStr HKCU "${CLASSES}\TokStudio.Ranks\shell\open\command" "" '"$INSTDIR\tokstudio-window.exe" "%1"'

  WriteRegStr HKCU "${KEY}" "DisplayName" "TokStudio"
  WriteRegStr HKCU "${KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${KEY}" "DisplayIcon" "$INSTDIR\tokstudio.ico"
  WriteRegStr HKCU "${KEY}" "Publisher" "The TokStudio developers"
  WriteRegStr HKCU "${KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${KEY}" "NoRepair" 1
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd

Section "Uninstall"
  !insertmacro RequireEnd "tokstudio-window.exe"
  !insertmacro RequireEnd "tokstudio.exe"
  ; Only what was installed: the folder may be one that holds other things too.
  RMDir /r "$INSTDIR\_internal"
  Delete "$INSTDIR\tokstudio.exe"
  Delete "$INSTDIR\tokstudio-window.exe"
  Delete "$INSTDIR\tokstudio.ico"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\TokStudio.lnk"
  ReadRegStr $0 HKCU "${CLASSES}\.tokstudio" ""
  ${If} $0 == "TokStudio.Project"
    DeleteRegKey HKCU "${CLASSES}\.tokstudio"
  ${EndIf}
  DeleteRegValue HKCU "${CLASSES}\.tiktoken\OpenWithProgids" "TokStudio.Ranks"
  DeleteRegKey /ifempty HKCU "${CLASSES}\.tiktoken\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "${CLASSES}\.tiktoken"
  DeleteRegKey HKCU "${CLASSES}\TokStudio.Project"
  DeleteRegKey HKCU "${CLASSES}\TokStudio.Ranks"
  DeleteRegKey HKCU "${CLASSES}\Applications\tokstudio-window.exe"
  DeleteRegKey HKCU "${KEY}"
  System::Call 'shell32::SHChangeNotify(i 0x08000000, i 0, p 0, p 0)'
SectionEnd
